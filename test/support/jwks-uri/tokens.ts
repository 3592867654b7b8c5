import { setTimeout as delay } from 'node:timers/promises'
import { importJWK, type JWK, SignJWT } from 'jose'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import type { PublishedKey } from './publish.ts'

/** A client of an authorization server that authenticates with `private_key_jwt` (RFC 7523). */
export interface AssertingClient {
  id: string
  tokenEndpoint: string
  issuer: string
}

/** Asks for a token with the private key. Returns the status. */
export async function requestToken(client: AssertingClient, jwk: JWK): Promise<number> {
  const { alg = '', kid = '' } = jwk
  const assertion = await new SignJWT({ iss: client.id, sub: client.id, jti: newId() })
    .setProtectedHeader({ alg, kid })
    .setAudience(client.issuer)
    .setIssuedAt()
    .setExpirationTime('5s')
    .sign(await importJWK(jwk))
  const response = await fetch(client.tokenEndpoint, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client.id,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    }),
  })
  await response.arrayBuffer()
  return response.status
}

/** Tokens that were given while something went on. */
export interface Tokens {
  /** By the kid of the key that signed the assertion. */
  given: Record<string, number>
  /** The clients to which one was refused, with the status. */
  refused: string[]
}

/** Asks for tokens with the current key, for each client, until `work` is done. */
export async function askDuring(
  { current }: PublishedKey,
  clients: readonly AssertingClient[],
  work: Promise<unknown>,
): Promise<Tokens> {
  const tokens: Tokens = { given: {}, refused: [] }
  let isDone = false
  const ended = work.finally(() => {
    isDone = true
  })
  while (!isDone) {
    for (const client of clients) {
      const jwk = current()
      const status = await requestToken(client, jwk)
      const kid = String(jwk.kid)
      if (status === 200) tokens.given[kid] = (tokens.given[kid] ?? 0) + 1
      else tokens.refused.push(`${client.id}: ${status}`)
    }
    await delay(250)
  }
  await ended
  return tokens
}
