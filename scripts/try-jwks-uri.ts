import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { endFile } from '../test/support/ending.ts'
import { publishKey } from '../test/support/jwks-uri/publish.ts'
import { askDuring, requestToken } from '../test/support/jwks-uri/tokens.ts'
import { realm, startKeycloak } from './keycloak.ts'

/**
 * `node scripts/try-jwks-uri.ts`: the commands of docs/jwks-uri.md with a real Keycloak as the platform. Prints how many
 * tokens it gave before, during and after a rotation, and fails if it refused one. Needs nginx, and what
 * `keycloak.ts` names.
 */
const files = mkdtempSync(join(tmpdir(), 'pubring-keycloak-'))
const keycloak = await startKeycloak(files)
const key = await publishKey(15)
const clients = Object.entries(key.addresses).map(([id, address]) => ({
  clientId: id,
  clientAuthenticatorType: 'client-jwt',
  serviceAccountsEnabled: true,
  standardFlowEnabled: false,
  attributes: {
    'use.jwks.url': 'true',
    'jwks.url': address,
    'token.endpoint.auth.signing.alg': 'ES384',
  },
}))
writeFileSync(join(files, 'realm.json'), JSON.stringify({ realm, enabled: true, clients }))
keycloak.administer('create', 'realms', '-f', join(files, 'realm.json'))
const asserting = clients.map(({ clientId }) => ({ id: clientId, ...keycloak.tokens }))

const old = key.current()
const total = { given: 0, refused: 0 }
for (const [when, work] of Object.entries({
  before: () => delay(5_000),
  during: () => key.rotate(),
  after: () => delay(20_000),
})) {
  const { given, refused } = await askDuring(key, asserting, work())
  process.stdout.write(`${when}: ${JSON.stringify(given)}, refused: ${JSON.stringify(refused)}\n`)
  total.given += Object.values(given).reduce((sum, each) => sum + each, 0)
  total.refused += refused.length
}
const ended = () => Promise.all(asserting.map((client) => requestToken(client, old)))
process.stdout.write(`a token for the ended key: ${await ended()}\n`)
// At a kid that it does not know, Keycloak fetches the set again.
for (const client of asserting) await requestToken(client, { ...old, kid: 'unknown' })
process.stdout.write(`after one with an unknown kid: ${await ended()}\n`)
process.stdout.write(`${total.given} tokens, ${total.refused} refused\n`)
await endFile()
await keycloak.stop()
rmSync(files, { recursive: true })
process.exit(total.refused === 0 ? 0 : 1)
