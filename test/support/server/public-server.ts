import { expect } from 'vitest'
import type { Algorithm, JwsAlgorithm } from '../../../packages/intake/src/algorithms.ts'
import type { TestKey } from '../keys/pem.ts'
import { jwsAlgorithm, signToken } from '../keys/tokens.ts'
import { startTlsProxy } from '../network/tls-proxy.ts'
import { audience, nonce } from '../verifiers.ts'
import { waitUntil } from '../waiting.ts'
import { startServer, temporaryFolder } from './process.ts'

export interface RegisteredKey extends TestKey {
  algorithm: Algorithm
  kid: string
  issuer: string
}

export interface PublicServer {
  /** Creates a project and returns the issuer in its discovery document. */
  issuer(project: string): Promise<string>
  register(issuer: string, algorithm: Algorithm, key: TestKey): Promise<RegisteredKey>
  /** Resolves when the key is no longer in the published set. */
  deactivate(key: RegisteredKey): Promise<void>
}

/** A server with default settings behind a TLS proxy, as verifiers use it in production. */
export async function startPublicServer(): Promise<PublicServer> {
  const { folder } = temporaryFolder()
  const proxy = await startTlsProxy()
  const server = await startServer(folder, { PUBRING_PUBLIC_URL: proxy.url })
  proxy.forwardTo(server.url)
  async function api(method: string, path: string, body: unknown) {
    const headers = { 'X-Api-Key': server.apiKey, 'Content-Type': 'application/json' }
    const request = { method, headers, body: JSON.stringify(body) }
    const response = await fetch(`${server.url}/v1/projects${path}`, request)
    expect(response.ok, `${method} ${path}`).toBe(true)
    return json(response)
  }
  return {
    async issuer(project) {
      const { id } = await api('POST', '', { name: project })
      const address = `${server.url}/v1/projects/${id}/.well-known/openid-configuration`
      return String((await json(await fetch(address))).issuer)
    },
    async register(issuer, algorithm, key) {
      const body = { name: algorithm, algorithm, publicKeyPem: key.publicKeyPem }
      const { kid } = await api('POST', `/${projectOf(issuer)}/jwt-keys`, body)
      return { ...key, algorithm, kid: String(kid), issuer }
    },
    async deactivate(key) {
      await api('PATCH', `/${projectOf(key.issuer)}/jwt-keys/${key.kid}`, { active: false })
      await waitUntil(async () => !(await isPublished(key)))
    },
  }
}

function projectOf(issuer: string): string {
  return issuer.slice(issuer.lastIndexOf('/') + 1)
}

async function json(response: Response): Promise<Record<string, unknown>> {
  const body: unknown = await response.json()
  if (typeof body !== 'object' || body === null) throw new Error('no JSON object')
  return { ...body }
}

async function isPublished({ issuer, kid }: RegisteredKey): Promise<boolean> {
  return (await (await fetch(`${issuer}/.well-known/jwks-full.json`)).text()).includes(kid)
}

/** Resolves when all keys are published. */
export async function waitUntilPublished(...keys: RegisteredKey[]): Promise<void> {
  for (const key of keys) await waitUntil(() => isPublished(key))
}

/** A token that is valid for a year, by default signed with the key's algorithm. */
export function issueToken(key: RegisteredKey, alg: JwsAlgorithm = jwsAlgorithm(key.algorithm)) {
  const iat = Math.floor(Date.now() / 1000) - 1
  const claims = { iss: key.issuer, aud: audience, sub: 'alice', nonce, iat, exp: iat + 31_536_000 }
  return signToken(key.privateKey, { alg, kid: key.kid }, claims)
}
