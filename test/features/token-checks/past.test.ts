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
const stepOf = (report: { steps: { step: string }[] }, step: string) =>
  report.steps.find((each) => each.step === step)

describe('a check at a time', () => {
  test('judges by the key as it was then, from its activation to before its end', async () => {
    const { key, kid, from, until, middle } = await endedKey()
    const token = tokenOf(key, kid)
    expect(await check(token)).toMatchObject({ valid: false, reason: 'key_inactive' })
    for (const time of [from, middle]) {
      expect(await check(token, time)).toMatchObject({ valid: true, key: { active: false } })
    }
    for (const time of [until, new Date(Date.parse(from) - 1).toISOString()]) {
      const report = await check(token, time)
      expect(report).toMatchObject({ valid: false, reason: 'key_inactive' })
      expect(report.steps.at(-1).detail).toContain(`from ${from} to ${until}`)
    }
  })

  test('judges exp and nbf by that time, too', async () => {
    const { key, kid, from, middle } = await endedKey()
    const token = tokenOf(key, kid, { nbf: seconds(from) + 60, exp: seconds(middle) })
    expect(await check(token, from)).toMatchObject({ reason: 'token_not_yet_valid' })
    expect(await check(token, middle)).toMatchObject({ reason: 'token_expired' })
    const time = new Date(Date.parse(middle) - 1_000).toISOString()
    expect(await check(token, time)).toMatchObject({ valid: true })
  })

  test('judges the signature all the same', async () => {
    const { kid, middle } = await endedKey()
    const report = await check(tokenOf(ecKey(), kid), middle)
    expect(report).toMatchObject({ reason: 'signature_invalid' })
  })

  test('takes the time of the token for iat, and none if there is none in the past', async () => {
    const { key, kid, middle, until } = await endedKey()
    expect(await check(tokenOf(key, kid, { iat: seconds(middle) }), 'iat')).toMatchObject({
      valid: true,
    })
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
    const [detail] = report.steps.slice(-1).map((step: { detail: string }) => step.detail)
    for (const part of [`from ${from} to ${until}`, thumbprint]) expect(detail).toContain(part)
  })

  test.each(['yesterday', '2026-03-01', '', 'IAT', '9999-01-01T00:00:00Z'])(
    'refuses %j as the time',
    async (at) => {
      for (const token of ['x', tokenOf(ecKey(), 'x')]) {
        const response = await server.send('POST', checksUrl, { body: { token, at } })
        expect(response.json()).toMatchObject({
          code: 'invalid_request',
          errors: [{ pointer: '/at' }],
        })
      }
    },
  )
})

describe('a key that ended as compromised', () => {
  test('is valid at no time that a token says', async () => {
    const { key, kid, middle } = await endedKey('compromised')
    const report = await check(tokenOf(key, kid, { iat: seconds(middle) }), 'iat')
    expect(report).toMatchObject({ valid: false, reason: 'key_inactive' })
    expect(report.steps.at(-1).detail).toContain('a thief can write any iat')
  })

  test('is valid at a time of the caller, and the answer says that it rests on it', async () => {
    const { key, kid, middle, until } = await endedKey('compromised')
    const report = await check(tokenOf(key, kid), middle)
    expect(report.valid).toBe(true)
    expect(stepOf(report, 'key_active')).toMatchObject({
      outcome: 'warned',
      detail: expect.stringContaining('rests on your time'),
    })
    expect(await check(tokenOf(key, kid), until)).toMatchObject({ reason: 'key_inactive' })
  })
})
