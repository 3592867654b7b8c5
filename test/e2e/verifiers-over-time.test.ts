import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ecKey } from '../support/keys/pem.ts'
import {
  issueToken,
  startPublicServer,
  waitUntilPublished,
} from '../support/server/public-server.ts'
import { type VerifierName, verifierNames, verifiers, verifyError } from '../support/verifiers.ts'

const server = await startPublicServer()

/** The libraries' messages for a kid that is not in the key set. */
const unknownKey = /no applicable key|unable to find a signing key|no matching jwk|not found/i

/** The clocks of this process, which the libraries read. The server's clock is not affected. */
const now = Date.now
const { now: monotonic } = performance
let passed = 0

beforeEach(() => {
  passed = 0
  vi.spyOn(Date, 'now').mockImplementation(() => now() + passed * 1000)
  vi.spyOn(performance, 'now').mockImplementation(() => monotonic.call(performance) + passed * 1000)
})
afterEach(() => {
  vi.restoreAllMocks()
})

/** Moves the clocks to this many seconds after the start. Some libraries read them once a millisecond. */
async function at(seconds: number): Promise<void> {
  passed = seconds
  await delay(3)
}

/** Two keys in a new project, and a verifier that has used the first. */
async function warm(name: VerifierName, project: string) {
  const issuer = await server.issuer(project)
  const key = await server.register(issuer, 'ES256', ecKey())
  const other = await server.register(issuer, 'ES256', ecKey())
  await waitUntilPublished(key, other)
  const verify = await verifiers[name](issuer)
  expect(await verifyError(verify, issueToken(key))).toBe('')
  return { verify, key, other }
}

test.each([
  ['jose', 600],
  ['jwks-rsa with jsonwebtoken', 600],
  ['openid-client', 300],
] as const)('%s trusts a deactivated key for %i s, and no longer', async (name, seconds) => {
  const { verify, key } = await warm(name, `off-${verifierNames.indexOf(name)}`)
  await server.deactivate(key)
  await at(seconds - 10)
  expect(await verifyError(verify, issueToken(key))).toBe('')
  await at(seconds + 1)
  expect(await verifyError(verify, issueToken(key))).toMatch(unknownKey)
})

test('aws-jwt-verify trusts a deactivated key until it meets an unknown kid', async () => {
  const { verify, key, other } = await warm('aws-jwt-verify', 'off-aws')
  await server.deactivate(key)
  await at(30 * 86_400)
  expect(await verifyError(verify, issueToken(key))).toBe('')
  expect(await verifyError(verify, issueToken({ ...other, kid: 'unknown' }))).toMatch(/not found/)
  expect(await verifyError(verify, issueToken(key))).not.toBe('')
})

test('get-jwks trusts a deactivated key at its next use, and as long as it is used', async () => {
  const { verify, key } = await warm('get-jwks with jsonwebtoken', 'off-get-jwks')
  await server.deactivate(key)
  const token = issueToken(key)
  const month = 30 * 86_400
  for (let seconds = month; seconds <= month + 3_600; seconds += 50) {
    await at(seconds)
    expect(await verifyError(verify, token), `after ${seconds} s`).toBe('')
  }
  await at(month + 3_600 + 61)
  expect(await verifyError(verify, token)).toMatch(unknownKey)
})

test.each([
  ['jose', 30],
  ['jwks-rsa with jsonwebtoken', 0],
  ['aws-jwt-verify', 0],
  ['get-jwks with jsonwebtoken', 0],
  ['openid-client', 60],
] as const)('%s takes a new key %i s after it last read the set', async (name, seconds) => {
  const { verify, key } = await warm(name, `new-${verifierNames.indexOf(name)}`)
  const fresh = await server.register(key.issuer, 'ES256', ecKey())
  await waitUntilPublished(fresh)
  if (seconds > 0) expect(await verifyError(verify, issueToken(fresh))).toMatch(unknownKey)
  await at(seconds)
  expect(await verifyError(verify, issueToken(fresh))).toBe('')
})
