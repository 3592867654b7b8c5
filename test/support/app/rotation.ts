import { createPublicKey, type KeyObject, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { expect } from 'vitest'
import type { Algorithm, JwsAlgorithm } from '../../../packages/intake/src/algorithms.ts'
import type { AccessRule } from '../../../packages/server/src/features/access-rules/contract.ts'
import type { CoreConfig } from '../../../packages/server/src/kernel/context.ts'
import type { HttpOptions } from '../../../packages/server/src/kernel/http/options.ts'
import { jwsAlgorithm, keyFor, signToken } from '../keys/tokens.ts'
import { publicUrl, startApp, type TestApp } from './app.ts'
import { type TestClock, testClock } from './clock.ts'
import { accessRulesUrl, exchangeParameters, sendForm } from './workloads.ts'

export interface RotatedKey {
  algorithm: Algorithm
  publicKeyPem: string
  privateKey: KeyObject
  /** Its RFC 7638 thumbprint. */
  jkt: string
}

export interface RegisteredKey extends RotatedKey {
  kid: string
}

export interface RotationApp extends TestApp {
  clock: TestClock
  keysUrl: string
  issuer: string
  /** Creates the rule by which keys of the project vouch, with these differences. */
  rule(members?: object): Promise<AccessRule>
  /** Registers a new key as the admin. */
  registered(members?: object, algorithm?: Algorithm): Promise<RegisteredKey>
  /** A rotation token that `key` signs for the successor, with these differences. */
  token(key: Signer, jkt: string, claims?: object, header?: object): string
  exchange(token: string): ReturnType<TestApp['send']>
  /** The secret of an API key by which the key vouches for the successor. */
  vouched(key: RegisteredKey, successor: { jkt: string }): Promise<string>
  /** Sends a key with its proof, or with these members, as the holder of that secret. */
  create(secret: string, key: RotatedKey, members?: object): ReturnType<TestApp['send']>
  /** Lets one key vouch for a new one and registers that. */
  successorOf(key: RegisteredKey): Promise<RegisteredKey>
}

type Signer = Pick<RotatedKey, 'algorithm' | 'privateKey'> & { kid?: string }

export async function newRotatedKey(algorithm: Algorithm = 'ES256'): Promise<RotatedKey> {
  const { publicKeyPem, privateKey } = keyFor(algorithm)
  const jwk = createPublicKey(publicKeyPem).export({ format: 'jwk' })
  return { algorithm, publicKeyPem, privateKey, jkt: await calculateJwkThumbprint(jwk as object) }
}

/** An application whose project `payments` lets its keys vouch once `rule` was called. */
export async function startRotationApp(
  config: Partial<CoreConfig> = {},
  http: Partial<HttpOptions> = {},
): Promise<RotationApp> {
  const clock = testClock()
  const app = await startApp({ clock, config: { refusalDelayMs: 0, ...config }, http })
  const keysUrl = '/v1/projects/payments/jwt-keys'
  const issuer = `${publicUrl}/v1/projects/${app.project.id}`
  const server: RotationApp = {
    ...app,
    clock,
    keysUrl,
    issuer,
    async rule(members = {}) {
      const body = {
        for: 'workloads',
        name: 'orders rotates itself',
        issuer,
        keySource: 'project',
        conditions: {},
        role: 'registrar',
        project: 'payments',
        ...members,
      }
      const response = await app.send('POST', accessRulesUrl, { body })
      expect(response.statusCode, response.body).toBe(201)
      return response.json()
    },
    async registered(members = {}, algorithm = 'ES256') {
      const key = await newRotatedKey(algorithm)
      const { publicKeyPem } = key
      const body = { name: 'orders', algorithm, publicKeyPem, ...members }
      const response = await app.send('POST', keysUrl, { body })
      expect(response.statusCode, response.body).toBe(201)
      return { ...key, kid: response.json().kid }
    },
    token({ algorithm, privateKey, kid }, jkt, claims = {}, header = {}) {
      const exp = Math.floor(clock.now() / 1_000) + 240
      const alg: JwsAlgorithm = jwsAlgorithm(algorithm)
      return signToken(
        privateKey,
        { alg, typ: 'pubring-rotation+jwt', ...(kid && { kid }), ...header },
        { iss: issuer, aud: publicUrl, exp, jti: randomUUID(), cnf: { jkt }, ...claims },
      )
    },
    exchange: (token) =>
      sendForm(
        app,
        new URLSearchParams({ ...exchangeParameters, subject_token: token }).toString(),
      ),
    async vouched(key, { jkt }) {
      const response = await server.exchange(server.token(key, jkt))
      expect(response.statusCode, response.body).toBe(200)
      return response.json().access_token
    },
    create(secret, key, members = {}) {
      const { publicKeyPem, algorithm, jkt } = key
      const proof = server.token(key, jkt)
      const body = { name: 'successor', algorithm, publicKeyPem, proof, ...members }
      return app.send('POST', keysUrl, { headers: { 'x-api-key': secret }, body })
    },
    async successorOf(key) {
      const successor = await newRotatedKey()
      const response = await server.create(await server.vouched(key, successor), successor)
      expect(response.statusCode, response.body).toBe(201)
      return { ...successor, kid: response.json().kid }
    },
  }
  return server
}
