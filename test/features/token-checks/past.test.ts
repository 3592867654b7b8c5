import { describe, expect, test } from 'vitest'
import { startApp } from '../../support/app/app.ts'
import { stoppedClock } from '../../support/app/clock.ts'
import { keyUrl, patchKey, registerKey } from '../../support/app/keys.ts'
import { checksUrl } from '../../support/app/token-checks.ts'
import { ecKey, type TestKey } from '../../support/keys/pem.ts'
import { signToken } from '../../support/keys/tokens.ts'

const clock = stoppedClock()
const server = await startApp({ clock })
const issuer = `${server.context.config.publicUrl}/v1/projects/${server.project.id}`

const isoIn = (seconds: number) => new Date(clock.now() + seconds * 1_000).toISOString()
const tokenOf = ({ privateKey }: TestKey, kid: string, claims: object = {}) =>
  signToken(privateKey, { alg: 'ES256', kid }, { iss: issuer, ...claims })

async function check(token: string, at?: string) {
  const response = await server.send('POST', checksUrl, { body: { token, ...(at && { at }) } })
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}

/** A key that was active for an hour, from an hour before its end. */
async function endedKey(reason?: 'compromised') {
  const key = ecKey()
  const { publicKeyPem } = key
  const kid = await registerKey(server, { publicKeyPem, name: 'orders' })
  const from = isoIn(0)
  clock.advance(3_600_000)
  const until = isoIn(0)
  await patchKey(server, kid, { active: false, ...(reason && { reason }) })
  clock.advance(3_600_000)
  return { key, kid, from, until, middle: isoIn(-5_400) }
}
const seconds = (time: string) => Date.parse(time) / 1_000
const before = (time: string, ms: number) => new Date(Date.parse(time) - ms).toISOString()

describe('a check at a time', () => {
  test('judges key, exp and nbf as they were then, and the signature all the same', async () => {
    const { key, kid, from, until, middle } = await endedKey()
    const token = tokenOf(key, kid)
    expect(await check(token)).toMatchObject({ valid: false, reason: 'key_inactive' })
    for (const time of [from, middle]) {
      expect(await check(token, time)).toMatchObject({ valid: true, key: { active: false } })
    }
    for (const time of [until, before(from, 1)]) {
      const report = await check(token, time)
      expect(report).toMatchObject({ valid: false, reason: 'key_inactive' })
      expect(report.steps.at(-1).detail).toContain(`from ${from} to ${until}`)
    }
    const short = tokenOf(key, kid, { nbf: seconds(from) + 60, exp: seconds(middle) })
    expect(await check(short, from)).toMatchObject({ reason: 'token_not_yet_valid' })
    expect(await check(short, middle)).toMatchObject({ reason: 'token_expired' })
    expect(await check(short, before(middle, 1_000))).toMatchObject({ valid: true })
    const forged = await check(tokenOf(ecKey(), kid), middle)
    expect(forged).toMatchObject({ reason: 'signature_invalid' })
  })

  test('takes the time of the token for iat, and none if there is none in the past', async () => {
    const { key, kid, middle, until } = await endedKey()
    const valid = await check(tokenOf(key, kid, { iat: seconds(middle) }), 'iat')
    expect(valid).toMatchObject({ valid: true })
    for (const iat of [Math.ceil(seconds(until)), undefined, 'x', seconds(isoIn(60))]) {
      const report = await check(tokenOf(key, kid, { iat }), 'iat')
      expect(report).toMatchObject({ valid: false, reason: 'key_inactive' })
    }
  })

  test('cannot verify what a deleted key signed, but says when it was active', async () => {
    const { key, kid, from, until, middle } = await endedKey()
    const { thumbprint } = (await server.send('GET', keyUrl(kid))).json().details
    await server.send('DELETE', keyUrl(kid))
    const report = await check(tokenOf(key, kid), middle)
    expect(report).toMatchObject({ valid: false, reason: 'kid_unknown' })
    const { detail } = report.steps.at(-1)
    for (const part of [`from ${from} to ${until}`, thumbprint]) expect(detail).toContain(part)
  })

  test.each(['yesterday', '2026-03-01', '', 'IAT', '9999-01-01T00:00:00Z'])(
    'refuses %j as the time',
    async (at) => {
      for (const token of ['x', tokenOf(ecKey(), 'x')]) {
        const response = await server.send('POST', checksUrl, { body: { token, at } })
        const refused = { code: 'invalid_request', errors: [{ pointer: '/at' }] }
        expect(response.json()).toMatchObject(refused)
      }
    },
  )
})

test('a key that ended as compromised is valid only at a time that the caller knows', async () => {
  const { key, kid, middle, until } = await endedKey('compromised')
  const byToken = await check(tokenOf(key, kid, { iat: seconds(middle) }), 'iat')
  expect(byToken).toMatchObject({ valid: false, reason: 'key_inactive' })
  expect(byToken.steps.at(-1).detail).toContain('a thief can write any iat')
  const byCaller = await check(tokenOf(key, kid), middle)
  expect(byCaller.valid).toBe(true)
  expect(byCaller.steps.find(({ step }: { step: string }) => step === 'key_active')).toMatchObject({
    outcome: 'warned',
    detail: expect.stringContaining('rests on your time'),
  })
  expect(await check(tokenOf(key, kid), until)).toMatchObject({ reason: 'key_inactive' })
})
