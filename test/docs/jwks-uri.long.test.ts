import { setTimeout as delay } from 'node:timers/promises'
import { Provider } from 'oidc-provider'
import { expect, test } from 'vitest'
import { publishKey } from '../support/jwks-uri/publish.ts'
import { type AssertingClient, askDuring, requestToken } from '../support/jwks-uri/tokens.ts'
import { startHttpServer } from '../support/network/http-server.ts'

/*
 * The commands of docs/jwks-uri.md, with oidc-provider as the platform. It keeps a key set for a minute at
 * least, so that this test takes four.
 */

const maxAge = 65

async function startPlatform(addresses: Record<string, string>): Promise<AssertingClient[]> {
  let handle: ReturnType<Provider['callback']> = () => {}
  const { url } = await startHttpServer((request, response) => handle(request, response))
  const provider = new Provider(url, {
    clients: Object.entries(addresses).map(([id, jwksUri]) => ({
      client_id: id,
      jwks_uri: jwksUri,
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'ES384',
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
    })),
    clientAuthMethods: ['private_key_jwt'],
    // By default it fetches nothing from this machine.
    fetch: (address: string) => fetch(address),
    enabledJWA: { clientAuthSigningAlgValues: ['ES384'] },
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
  })
  handle = provider.callback()
  return Object.keys(addresses).map((id) => ({ id, issuer: url, tokenEndpoint: `${url}/token` }))
}

test('tokens before, during and after a rotation, from Pubring and from static files', async () => {
  const key = await publishKey(maxAge)
  expect(key.addresses.live).toMatch(/\/v1\/projects\/[0-9a-f-]{36}\/\.well-known\/jwks\.json$/)
  const clients = await startPlatform(key.addresses)
  const old = key.current()
  const before = await askDuring(key, clients, delay(2_000))
  expect(before).toMatchObject({ refused: [], given: { [String(old.kid)]: expect.any(Number) } })
  const during = await askDuring(
    key,
    clients,
    key.rotate().then(() => delay(2_000)),
  )
  const kid = String(key.current().kid)
  expect(kid).not.toBe(old.kid)
  // The old key has ended, and the platform may fetch the set again.
  const after = await askDuring(key, clients, delay((maxAge + 10) * 1_000))
  expect([...during.refused, ...after.refused]).toEqual([])
  expect(Object.keys(during.given).sort()).toEqual([old.kid, kid].sort())
  expect(Object.keys(after.given)).toEqual([kid])
  for (const client of clients) {
    // It fetches the set again when it meets an unknown kid, and knows the ended key until then.
    expect(await requestToken(client, { ...old, kid: 'unknown' })).toBe(401)
    expect(await requestToken(client, old)).toBe(401)
  }
})
