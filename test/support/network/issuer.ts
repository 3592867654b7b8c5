import type { KeyObject } from 'node:crypto'
import { createPublicKey, randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { publicUrl } from '../app/app.ts'
import { ecKey } from '../keys/pem.ts'
import { signToken } from '../keys/tokens.ts'
import { type HttpsServer, startHttpsServer } from './https-server.ts'

/** A real issuer: an HTTPS server with discovery and a JWKS, and the private key of its tokens. */
export interface TestIssuer {
  /** The `iss` of its tokens. */
  url: string
  server: HttpsServer
  kid: string
  privateKey: KeyObject
  /** Served as its JWKS; tests change it. */
  jwks: { keys: object[] }
  /** Served as its discovery document; tests change it. */
  discovery: Record<string, unknown>
  /** Headers of its JWKS. */
  headers: Record<string, string>
  /** Serves paths instead of the usual documents. */
  pages: Map<string, RequestListener>
  /** Replaces its key; the old one is no longer served. */
  rotate(): void
  /** Claims of a token for this registry that its rules accept, with these differences. */
  claims(members?: object): Record<string, unknown>
  /** A token of these claims, with these differences in its header. */
  token(members?: object, header?: object): string
  close(): Promise<void>
}

export const issuerHost = 'issuer.test'

export async function startIssuer(clock: { now(): number } = Date): Promise<TestIssuer> {
  const server = await startHttpsServer([issuerHost, 'other.test'], (request, response) => {
    const page = issuer.pages.get(request.url ?? '')
    if (page !== undefined) return page(request, response)
    const content = new Map<string, unknown>([
      ['/.well-known/openid-configuration', issuer.discovery],
      ['/jwks', issuer.jwks],
    ]).get(request.url ?? '')
    if (content === undefined) return response.writeHead(404).end()
    return response
      .writeHead(200, { 'content-type': 'application/json', ...issuer.headers })
      .end(JSON.stringify(content))
  })
  const url = server.urlOf(issuerHost)
  const issuer: TestIssuer = {
    url,
    server,
    kid: '',
    privateKey: ecKey().privateKey,
    jwks: { keys: [] },
    discovery: { issuer: url, jwks_uri: `${url}/jwks` },
    headers: {},
    pages: new Map(),
    rotate() {
      issuer.privateKey = ecKey().privateKey
      issuer.kid = randomUUID()
      issuer.jwks = { keys: [jwkOf(issuer.privateKey, { kid: issuer.kid })] }
    },
    claims(members = {}) {
      const seconds = Math.floor(clock.now() / 1_000)
      const times = { iat: seconds, nbf: seconds, exp: seconds + 300 }
      const who = { iss: url, aud: publicUrl, sub: 'repo:acme/orders', jti: randomUUID() }
      return { ...who, ...times, repository_id: '74', ref: 'refs/heads/main', ...members }
    },
    token: (members, header) =>
      signToken(
        issuer.privateKey,
        { typ: 'JWT', alg: 'ES256', kid: issuer.kid, ...header },
        issuer.claims(members),
      ),
    close: () => server.close(),
  }
  issuer.rotate()
  return issuer
}

/** The public half as a JWK of an issuer. */
export function jwkOf(key: KeyObject, members: object): object {
  return { ...createPublicKey(key).export({ format: 'jwk' }), use: 'sig', ...members }
}
