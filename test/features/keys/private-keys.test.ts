import { describe, expect, test } from 'vitest'
import {
  type LedgerEvent,
  systemLedgerId,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { startApp } from '../../support/app/app.ts'
import { startWorkloadApp } from '../../support/app/workloads.ts'
import { encodings } from '../../support/keys/encodings.ts'
import { accepted, pem } from '../../support/keys/intake.ts'
import {
  expectNoEcho,
  freshPair,
  kindNames,
  privateKeyForms,
  publicPemOf,
} from '../../support/keys/key-pairs.ts'

/** The algorithm that the owner would ask for; a private key is refused before it is looked at. */
function algorithmOf(kind: string): string {
  return accepted(publicPemOf(kind)).key.algorithms[0] ?? ''
}

const keys = (project: string) => `/v1/projects/${project}/jwt-keys`

const app = await startApp()
const created = await app.send('POST', '/v1/projects', { body: { name: 'elsewhere' } })
const elsewhere: string = created.json().name

/** By an API key of its own, unless another is given: so many incidents of one are no events. */
async function post(url: string, kind: string, publicKeyPem: string, given?: string) {
  const apiKey = given ?? (await app.apiKey('admin'))
  const body = { algorithm: algorithmOf(kind), publicKeyPem }
  const named = url === '/v1/key-checks' ? body : { name: 'pasted', ...body }
  return app.send('POST', url, { body: named, headers: { 'x-api-key': apiKey } })
}

async function lastEvent(ledgerId: string): Promise<LedgerEvent | undefined> {
  return (await readEvents(app.context.store.reader, ledgerId, { after: 0, limit: 1_000 })).at(-1)
}

/** A new pair: its private half in PEM, and the thumbprint of the public one. */
function fresh(kind: string, index = 0) {
  const pair = freshPair(kind)
  const form = privateKeyForms(kind, pair)[index]
  if (form === undefined) throw new Error(kind)
  const publicPem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const { thumbprint } = accepted(publicPem).key
  return { der: form.der, text: pem(form.der, form.label), publicPem, thumbprint }
}

describe.each(kindNames)('a private key of the kind %s', (kind) => {
  for (const [index, { form }] of privateKeyForms(kind).entries()) {
    test(`${form}: is refused, kept nowhere, and told to the project's ledger`, async () => {
      const { der, text, thumbprint } = fresh(kind, index)
      const writer = await app.apiKey('writer', app.project.id)
      const { id, name } = (
        await app.send('GET', '/v1/api-keys/self', { headers: { 'x-api-key': writer } })
      ).json()
      const refused = await post(keys('payments'), kind, text, writer)
      expect(refused.statusCode).toBe(400)
      expect(refused.json()).toMatchObject({
        code: 'private_key_submitted',
        errors: [{ pointer: '/publicKeyPem', code: 'private_key_submitted' }],
      })
      expectNoEcho(refused.body, der.toString('base64'), der.toString('hex'))
      expect((await app.send('GET', keys('payments'))).json()).toEqual([])
      const event = await lastEvent(app.project.id)
      expect(event).toMatchObject({
        type: 'private_key.refused',
        actor: { apiKeyId: id, name },
        subject: { type: 'project', id: app.project.id },
        changes: { thumbprint: { to: thumbprint } },
        requestId: refused.headers['x-request-id'],
      })
      expectNoEcho(event, der.toString('base64'), der.toString('hex'))
    })
  }

  test.each(['escaped', 'base64', 'label edited', 'in a JSON object', 'after a public key'])(
    '%s: is refused as well',
    async (wrapping) => {
      const { text, thumbprint } = fresh(kind)
      const refused = await post(keys('payments'), kind, encodings[wrapping]?.(text) ?? '')
      expect(refused.json().code).toBe('private_key_submitted')
      const changes = (await lastEvent(app.project.id))?.changes
      expect(changes?.thumbprint).toEqual({ to: thumbprint })
    },
  )

  test('its public half is taken in no project from then on, and by no check', async () => {
    const [form] = privateKeyForms(kind)
    await post(keys('payments'), kind, form === undefined ? '' : pem(form.der, form.label))
    for (const project of ['payments', elsewhere]) {
      const refused = await post(keys(project), kind, publicPemOf(kind))
      expect(refused.statusCode).toBe(400)
      expect(refused.json()).toMatchObject({
        code: 'compromised_key',
        errors: [{ pointer: '/publicKeyPem', code: 'key_known_compromised' }],
      })
      expect((await app.send('GET', keys(project))).json()).toEqual([])
    }
    const checked = await post('/v1/key-checks', kind, publicPemOf(kind))
    expect(checked.json()).toMatchObject({
      accepted: false,
      problem: 'compromised_key',
      faults: [{ code: 'key_known_compromised' }],
    })
  })
})

describe('the check of a private key', () => {
  const kind = 'P-256'

  test('is an incident of the project that the API key is bound to', async () => {
    const reader = await app.apiKey('reader', app.project.id)
    const checked = await post('/v1/key-checks', kind, fresh(kind).text, reader)
    expect(checked.json()).toMatchObject({ accepted: false, problem: 'private_key_submitted' })
    expect(await lastEvent(app.project.id)).toMatchObject({
      type: 'private_key.refused',
      actor: { name: 'a reader' },
      requestId: checked.headers['x-request-id'],
    })
  })

  test('is an incident of the registry where the API key is bound to none', async () => {
    const checked = await post('/v1/key-checks', kind, fresh(kind).text)
    expect(checked.json()).toMatchObject({ accepted: false, problem: 'private_key_submitted' })
    expect(await lastEvent(systemLedgerId)).toMatchObject({
      type: 'private_key.refused',
      subject: { type: 'registry', id: systemLedgerId },
      requestId: checked.headers['x-request-id'],
    })
  })

  test('does not block a key whose holder merely put its public half beside another secret', async () => {
    const victim = publicPemOf('Ed25519')
    const server = await startApp()
    const [other] = privateKeyForms('P-384')
    const pasted = victim + (other === undefined ? '' : pem(other.der, other.label))
    const body = { name: 'n', algorithm: 'Ed25519', publicKeyPem: pasted }
    expect((await server.send('POST', keys('payments'), { body })).statusCode).toBe(400)
    const good = { ...body, publicKeyPem: victim }
    expect((await server.send('POST', keys('payments'), { body: good })).statusCode).toBe(201)
  })
})

test('a workload adds ten incidents a minute to a ledger, however many API keys it exchanges', async () => {
  const workloads = await startWorkloadApp()
  await workloads.rule()
  for (let count = 0; count < 12; count += 1) {
    const headers = { 'x-api-key': await workloads.exchangedKey() }
    const body = { name: 'n', algorithm: 'Ed25519', publicKeyPem: fresh('Ed25519').text }
    const refused = await workloads.send('POST', keys('payments'), { body, headers })
    expect(refused.json().code).toBe('private_key_submitted')
  }
  const { context, project } = workloads
  const events = await readEvents(context.store.reader, project.id, { after: 0, limit: 1_000 })
  expect(events.filter(({ type }) => type === 'private_key.refused')).toHaveLength(10)
})

describe('a private key in the wrong place', () => {
  const { text } = fresh('Ed25519')
  const good = { name: 'n', algorithm: 'Ed25519', publicKeyPem: publicPemOf('Ed25519') }

  test.each([
    ['a field that there is not', { ...good, privateKeyPem: text }],
    ['the algorithm', { ...good, algorithm: text }],
    ['the expireTime', { ...good, expireTime: text }],
    ['the name, with its line breaks', { ...good, name: text }],
    ['a body that is no JSON', text],
  ])('%s: the error says that the key is compromised', async (_where, body) => {
    const refused = await app.send('POST', keys('payments'), { body })
    expect(refused.statusCode).toBe(400)
    expect(refused.json()).toMatchObject({
      code: 'private_key_submitted',
      detail: expect.stringMatching(/compromised.* a new pair/),
    })
    expectNoEcho(refused.body, text.split('\n')[1] ?? '', '')
  })
})

test('a registered key whose private half was submitted is never switched on again', async () => {
  const pair = freshPair('P-256')
  const [form] = privateKeyForms('P-256', pair)
  const publicKeyPem = pem(pair.publicKey.export({ format: 'der', type: 'spki' }))
  const body = { name: 'n', algorithm: 'ES256', publicKeyPem }
  const { kid } = (await app.send('POST', keys('payments'), { body })).json()
  const patch = (active: boolean) =>
    app.send('PATCH', `${keys('payments')}/${kid}`, { body: { active } })
  expect((await patch(false)).statusCode).toBe(200)
  expect((await patch(true)).statusCode).toBe(200)

  await post(keys('payments'), 'P-256', form === undefined ? '' : pem(form.der, form.label))
  expect((await patch(false)).json()).toMatchObject({ active: false })
  expect((await patch(true)).json()).toMatchObject({
    status: 409,
    code: 'key_compromised',
  })
  expect((await app.send('GET', `${keys('payments')}/${kid}`)).json()).toMatchObject({
    active: false,
  })
})
