import { describe, expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import {
  type LedgerEvent,
  systemLedgerId,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { startApp } from '../../support/app/app.ts'
import { examine } from '../../support/keys/intake.ts'
import { ecKey, privatePem, type TestKey } from '../../support/keys/pem.ts'
import { signToken } from '../../support/keys/tokens.ts'
import { origin } from '../../support/store/store.ts'

const app = await startApp({ config: { maxKeysPerProject: 500, maxJwksBytes: 1_000_000 } })
const other: { id: string; name: string } = (
  await app.send('POST', '/v1/projects', { body: { name: 'elsewhere' } })
).json()

const keys = (project: string) => `/v1/projects/${project}/jwt-keys`
const body = (publicKeyPem: string, name = 'n') => ({ name, algorithm: 'ES256', publicKeyPem })

async function register(project: string, { publicKeyPem }: TestKey): Promise<string> {
  const answer = await app.send('POST', keys(project), { body: body(publicKeyPem) })
  expect(answer.statusCode, answer.body).toBe(201)
  return answer.json().kid
}

/** Submits the private half where a public one is wanted. */
const submit = (project: string, key: TestKey, apiKey = app.admin) =>
  app.send('POST', keys(project), {
    body: body(privatePem(key)),
    headers: { 'x-api-key': apiKey },
  })

async function eventsOf(ledgerId: string, subject?: string): Promise<LedgerEvent[]> {
  const events = await readEvents(app.context.store.reader, ledgerId, { after: 0, limit: 1_000 })
  return events.filter(({ subject: { id } }) => subject === undefined || id === subject)
}
const weaknessesOf = async (ledgerId: string, kid: string) =>
  (await eventsOf(ledgerId, kid)).filter(({ type }) => type === 'key.weakness_found')

describe('a key that is registered when its private half is submitted', () => {
  test('in the same project: the ledger and the error tell of it, and it stays active', async () => {
    const key = ecKey()
    const kid = await register('payments', key)
    const writer = await app.apiKey('writer', app.project.id)
    const refused = await submit('payments', key, writer)
    expect(refused.json().code).toBe('private_key_submitted')
    expect(refused.json().detail).toContain(kid)
    expect(await weaknessesOf(app.project.id, kid)).toMatchObject([
      {
        actor: { name: 'a writer' },
        subject: { type: 'key', id: kid },
        changes: { weaknesses: { to: 'key_known_compromised' } },
        requestId: refused.headers['x-request-id'],
      },
    ])
    const read = await app.send('GET', `${keys('payments')}/${kid}`)
    expect(read.json().active).toBe(true)
    const again = await app.send('POST', keys('payments'), { body: body(key.publicKeyPem) })
    expect(again.json().code).toBe('compromised_key')
  })

  test('in another project: its ledger tells of it without an actor, the error says nothing', async () => {
    const [active, inactive] = [ecKey(), ecKey()]
    const kid = await register('elsewhere', active)
    const asleep = await register('elsewhere', inactive)
    const url = `${keys('elsewhere')}/${asleep}`
    await app.send('PATCH', url, { body: { active: false } })
    const writer = await app.apiKey('writer', app.project.id)
    const said = (await submit('payments', ecKey(), writer)).json().detail
    for (const [each, id] of [
      [active, kid],
      [inactive, asleep],
    ] as const) {
      expect((await submit('payments', each, writer)).json().detail).toBe(said)
      const [event, ...more] = await weaknessesOf(other.id, id)
      expect(more).toEqual([])
      expect(event?.actor).toEqual({ name: 'pubring' })
      expect(JSON.stringify(event)).not.toContain(app.project.id)
    }
  })

  test('is recorded once, however often and wherever it is submitted, by a check too', async () => {
    const key = ecKey()
    const kid = await register('elsewhere', key)
    const headers = { 'x-api-key': await app.apiKey('reader', other.id) }
    const check = { publicKeyPem: privatePem(key) }
    const checked = await app.send('POST', '/v1/key-checks', { body: check, headers })
    expect(checked.json().faults[0].detail).toContain(kid)
    for (const project of ['payments', 'elsewhere', 'payments']) await submit(project, key)
    expect(await weaknessesOf(other.id, kid)).toHaveLength(1)
  })
})

describe('a key whose private half was submitted', () => {
  const get = async (url: string) => (await app.send('GET', url)).json()
  const stateOf = async (project: string, kid: string) => {
    const states: { kid: string }[] = await get(`/v1/projects/${project}/key-states`)
    return states.find((each) => each.kid === kid)
  }

  test('is compromised wherever a state is shown, until it is off for ever', async () => {
    const { id, name } = (
      await app.send('POST', '/v1/projects', { body: { name: 'leaked' } })
    ).json()
    const key = ecKey()
    const kid = await register(name, key)
    const url = `${keys(name)}/${kid}`
    const { etag } = (await app.send('GET', url)).headers
    await submit('payments', key)
    const read = await app.send('GET', url, { headers: { 'if-none-match': String(etag) } })
    expect(read.json()).toMatchObject({ active: true, details: { state: 'compromised' } })
    expect(await stateOf(name, kid)).toEqual({
      kid,
      state: 'compromised',
      endsBecause: 'compromised',
    })
    const found = await get(`/v1/search?q=${kid}`)
    expect(found.results).toMatchObject([{ kid, state: 'compromised' }])
    const token = signToken(key.privateKey, { alg: 'ES256', kid }, {})
    const check = await app.send('POST', `/v1/projects/${name}/token-checks`, { body: { token } })
    expect(check.json().steps).toContainEqual(
      expect.objectContaining({ step: 'key_active', outcome: 'warned' }),
    )
    const headers = { 'x-api-key': await app.apiKey('reader', id) }
    const warnings = await app.send('GET', '/v1/warnings', { headers })
    const warning = { code: 'key_compromised', severity: 'critical' }
    expect(warnings.json()).toMatchObject([{ ...warning, projectId: id, kid }])
    expect((await app.send('GET', '/v1/project-health', { headers })).json()).toMatchObject([
      { keys: { active: 1, compromised: 1 }, warnings: [warning] },
    ])
    await app.send('PATCH', url, { body: { active: false } })
    expect(await stateOf(name, kid)).toMatchObject({ state: 'off', endsBecause: 'compromised' })
    const again = await app.send('PATCH', url, { body: { active: true } })
    expect(again.json().code).toBe('key_compromised')
  })
})

test('a crash before the key is found to be compromised does not let it be activated', async () => {
  const key = ecKey()
  const kid = await register('payments', key)
  const url = `${keys('payments')}/${kid}`
  await app.send('PATCH', url, { body: { active: false } })
  const verdict = examine(privatePem(key))
  const { exposed } = { exposed: undefined, ...verdict }
  if (exposed === undefined) return expect.fail()
  await app.context.store.commit(keyChanges.refusePrivateKey, { origin: origin(), exposed })
  const { code } = (await app.send('PATCH', url, { body: { active: true } })).json()
  expect(code).toBe('key_compromised')
})

test('both halves at once, in two projects: the key is refused, or the incident is recorded', async () => {
  for (let round = 0; round < 40; round += 1) {
    const key = ecKey()
    const [created, refused] = await Promise.all([
      app.send('POST', keys('payments'), { body: body(key.publicKeyPem) }),
      submit('elsewhere', key),
    ])
    expect(refused.json().code).toBe('private_key_submitted')
    if (created.statusCode === 201) {
      expect(await weaknessesOf(app.project.id, created.json().kid)).toHaveLength(1)
    } else {
      expect(created.json().code).toBe('compromised_key')
    }
  }
})

test('a reader that checks private keys without end disturbs the system’s ledger ten times', async () => {
  const headers = { 'x-api-key': await app.apiKey('reader') }
  const revision = async () =>
    (await app.context.store.heads([systemLedgerId])).get(systemLedgerId)?.revision ?? 0
  const before = await revision()
  for (let i = 0; i < 30; i += 1) {
    const checked = await app.send('POST', '/v1/key-checks', {
      body: { publicKeyPem: privatePem(ecKey()) },
      headers,
    })
    expect(checked.json().problem).toBe('private_key_submitted')
  }
  expect((await revision()) - before).toBe(10)
})
