import { createPublicKey } from 'node:crypto'
import { type JWTPayload, jwtVerify } from 'jose'
import { expect, onTestFinished } from 'vitest'
import {
  type KeySetOptions,
  type KeySetState,
  type ProjectKeySet,
  projectKeySet,
} from '../../../packages/client/src/verify.ts'
import {
  type Algorithm,
  type JwsAlgorithm,
  jwsAlgorithmNames,
} from '../../../packages/intake/src/algorithms.ts'
import { rsaKey } from '../keys/pem.ts'
import { jwsAlgorithm, keyFor, signToken } from '../keys/tokens.ts'
import { waitUntil } from '../waiting.ts'
import type { TestApp } from './app.ts'

/** A key set under test, and all states that it reported. */
export interface WatchedKeySet {
  keys: ProjectKeySet
  states: KeySetState[]
  /** Resolves when it is in a matching state or reports one. */
  waitForState(matches: (state: KeySetState) => boolean): Promise<void>
}

/** A key set of the project, closed after the test. */
export function openKeySet(url: string, options: KeySetOptions = {}): WatchedKeySet {
  const states: KeySetState[] = []
  const keys = projectKeySet(url, { ...options, onChange: (state) => states.push(state) })
  onTestFinished(() => keys.close())
  const waitForState = async (matches: (state: KeySetState) => boolean) => {
    const reported = states.length
    const isReached = () => matches(keys.state()) || states.slice(reported).some(matches)
    await waitUntil(isReached)
  }
  return { keys, states, waitForState }
}

/** A key of each algorithm, as a key set has it. Those of RSA are one key. */
export function keyOfEach() {
  const rsa = rsaKey()
  return jwsAlgorithmNames.map((alg) => {
    const { publicKeyPem, privateKey } = /^[RP]S/.test(alg) ? rsa : keyFor(alg)
    const material = createPublicKey(publicKeyPem).export({ format: 'jwk' })
    const tokenOf = (claims: object, kid: string = alg) =>
      signToken(privateKey, { alg, kid }, { ...claims })
    return { tokenOf, jwk: { ...material, kid: alg, alg, use: 'sig' } }
  })
}

/** A registered key and a token that is signed with it. */
export interface SignedToken {
  kid: string
  token: string
}

/** Registers a new key in the app's project and signs a token with it. */
export async function registerAndSign(
  server: TestApp,
  algorithm: Algorithm = 'ES256',
  options: { project?: string; alg?: JwsAlgorithm; expireTime?: string } = {},
): Promise<SignedToken> {
  const { project = server.project.id, alg = jwsAlgorithm(algorithm), ...more } = options
  const { publicKeyPem, privateKey } = keyFor(algorithm)
  const body = { name: algorithm, algorithm, publicKeyPem, ...more }
  const response = await server.send('POST', `/v1/projects/${project}/jwt-keys`, { body })
  expect(response.statusCode).toBe(201)
  const { kid } = response.json()
  return { kid, token: signToken(privateKey, { alg, kid }, { sub: 'alice' }) }
}

export async function setActive(server: TestApp, kid: string, active: boolean): Promise<void> {
  const path = `/v1/projects/${server.project.id}/jwt-keys/${kid}`
  const response = await server.send('PATCH', path, { body: { active } })
  expect(response.statusCode).toBe(200)
}

/** The claims of the token, or the code of jose's error. */
export async function verifyResult(
  keys: ProjectKeySet,
  token: string,
): Promise<JWTPayload | string> {
  try {
    return (await jwtVerify(token, keys)).payload
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}
