import { beforeEach, describe, expect, test } from 'vitest'
import {
  type LedgerEvent,
  systemLedgerId,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { keysUrl, newProject, registerKey } from '../../support/app/keys.ts'
import { startWorkloadApp } from '../../support/app/workloads.ts'
import { encodings } from '../../support/keys/encodings.ts'
import { accepted, pem } from '../../support/keys/intake.ts'
import {
  expectNoEcho,
  freshPair,
  privateKeyForms,
  publicPemOf,
} from '../../support/keys/key-pairs.ts'

const app = await startApp()
const elsewhere = await newProject(app, 'elsewhere')

/** Each test has an API key of its own, whose incidents are few enough to be events. */
let headers: { 'x-api-key': string }
beforeEach(async () => {
  headers = { 'x-api-key': await app.apiKey('admin') }
})
const post = (url: string, body: unknown) => app.send('POST', url, { body, headers })
const patch = (url: string, body: object) => app.send('PATCH', url, { body, headers })

async function lastEvent(ledgerId: string): Promise<LedgerEvent | undefined> {
  return (await readEvents(app.context.store.reader, ledgerId, { after: 0, limit: 1_000 })).at(-1)
}

/** A new pair: its private half in PEM and DER, and the public one with its thumbprint. */
function fresh(kind: string, index = 0) {
  const pair = freshPair(kind)
  const form = privateKeyForms(kind, pair)[index]
  if (form === undefined) throw new Error(kind)
  const publicKeyPem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const { thumbprint, algorithms } = accepted(publicKeyPem).key
  // The algorithm that the owner would ask for; a private key is refused before it is looked at.
  const body = { name: 'pasted', algorithm: algorithms[0] ?? '', publicKeyPem }
  return { der: form.der, text: pem(form.der, form.label), body, thumbprint }
}

const compromised = {
  status: 400,
  code: 'compromised_key',
  errors: [{ pointer: '/publicKeyPem', code: 'key_known_compromised' }],
}

describe.each([
  ['RSA-2048', 'pkcs8', 0],
  ['RSA-2048', 'pkcs1', 1],
  ['P-256', 'pkcs8', 0],
  ['P-384', 'sec1', 1],
  ['Ed25519', 'pkcs8', 0],
  ['ML-DSA-65', 'pkcs8', 0],
])('a private key: %s as %s', (kind, _form, index) => {
  test('is refused, kept nowhere, and told to the ledger; its public half is taken nowhere', async () => {
    const { der, text, body, thumbprint } = fresh(kind, index)
    const { id, name } = (await app.send('GET', '/v1/api-keys/self', { headers })).json()
    const refused = await post(keysUrl, { ...body, publicKeyPem: text })
    expect(refused.json()).toMatchObject({
      status: 400,
      code: 'private_key_submitted',
      errors: [{ pointer: '/publicKeyPem', code: 'private_key_submitted' }],
    })
    const event = await lastEvent(app.project.id)
    expect(event).toMatchObject({
      type: 'private_key.refused',
      actor: { apiKeyId: id, name },
      subject: { type: 'project', id: app.project.id },
      changes: { thumbprint: { to: thumbprint } },
      requestId: refused.headers['x-request-id'],
    })
    for (const said of [refused.body, event]) {
      expectNoEcho(said, der.toString('base64'), der.toString('hex'))
    }
    for (const url of [keysUrl, elsewhere.keys]) {
      expect((await post(url, body)).json()).toMatchObject(compromised)
      expect((await app.send('GET', url)).json()).toEqual([])
    }
    const { name: _name, ...checked } = body
    expect((await post('/v1/key-checks', checked)).json()).toMatchObject({
      accepted: false,
      problem: 'compromised_key',
      faults: [{ code: 'key_known_compromised' }],
    })
  })
})

test.each(['escaped', 'base64', 'label edited', 'in a JSON object', 'after a public key'])(
  'a private key %s is refused as well',
  async (wrapping) => {
    const { text, body, thumbprint } = fresh('P-256')
    const refused = await post(keysUrl, { ...body, publicKeyPem: encodings[wrapping]?.(text) })
    expect(refused.json().code).toBe('private_key_submitted')
    const changes = (await lastEvent(app.project.id))?.changes
    expect(changes?.thumbprint).toEqual({ to: thumbprint })
  },
)

describe('the check of a private key', () => {
  test.each([
    ['of the project that the API key is bound to', true],
    ['of the registry where the API key is bound to none', false],
  ])('is an incident %s', async (_whose, isBound) => {
    const apiKey = await app.apiKey('reader', isBound ? app.project.id : undefined)
    const checked = await app.send('POST', '/v1/key-checks', {
      body: { publicKeyPem: fresh('P-256').text },
      headers: { 'x-api-key': apiKey },
    })
    expect(checked.json()).toMatchObject({ accepted: false, problem: 'private_key_submitted' })
    const [type, id] = isBound ? ['project', app.project.id] : ['registry', systemLedgerId]
    expect(await lastEvent(id)).toMatchObject({
      type: 'private_key.refused',
      actor: { name: 'a reader' },
      subject: { type, id },
      requestId: checked.headers['x-request-id'],
    })
  })

  test('does not block a key whose holder merely put its public half beside another secret', async () => {
    const body = { name: 'n', algorithm: 'Ed25519', publicKeyPem: publicPemOf('Ed25519') }
    const pasted = { ...body, publicKeyPem: body.publicKeyPem + fresh('P-384').text }
    expect((await post(elsewhere.keys, pasted)).statusCode).toBe(400)
    expect((await post(elsewhere.keys, body)).statusCode).toBe(201)
  })
})

describe('a private key in a text that would be stored', () => {
  interface Place {
    place: string
    pointer: string
    /** The ledger that hears of it; absent: the system's. */
    inProject?: true
    send(text: string): ReturnType<TestApp['send']>
  }
  const good = () => fresh('Ed25519').body
  const places: Place[] = [
    {
      place: 'the name of a new key',
      pointer: '/name',
      inProject: true,
      send: (name) => post(keysUrl, { ...good(), name }),
    },
    {
      place: 'the label of a new key',
      pointer: '/label',
      inProject: true,
      send(label) {
        const { name: _name, ...others } = good()
        return post(keysUrl, { ...others, label })
      },
    },
    {
      place: 'the new label of a key',
      pointer: '/label',
      inProject: true,
      send: async (label) => patch(`${keysUrl}/${await registerKey(app)}`, { label }),
    },
    {
      place: 'the name of a new API key',
      pointer: '/name',
      send: (name) => post('/v1/api-keys', { name, role: 'reader' }),
    },
    {
      place: 'the new name of an API key',
      pointer: '/name',
      async send(name) {
        const { id } = (await post('/v1/api-keys', { name: 'n', role: 'reader' })).json()
        return patch(`/v1/api-keys/${id}`, { name })
      },
    },
    {
      place: 'the name of a new project',
      pointer: '/name',
      send: (name) => post('/v1/projects', { name }),
    },
    {
      place: 'the new name of a project',
      pointer: '/name',
      inProject: true,
      send: (name) => patch('/v1/projects/payments', { name }),
    },
  ]

  test.each(places)(
    '$place: is refused, blocked and told',
    async ({ pointer, inProject, send }) => {
      // Short enough for a label, and in the characters of a project's name.
      const { der, body } = fresh('Ed25519')
      const refused = await send(der.toString('hex'))
      expect(refused.json(), refused.body).toMatchObject({
        status: 400,
        code: 'private_key_submitted',
        errors: [{ pointer, code: 'private_key_submitted' }],
      })
      expect(await lastEvent(inProject ? app.project.id : systemLedgerId)).toMatchObject({
        type: 'private_key.refused',
        requestId: refused.headers['x-request-id'],
      })
      expect((await post(keysUrl, body)).json()).toMatchObject(compromised)
    },
  )

  test('beside a bad label a private key counts as submitted all the same', async () => {
    const { text, body } = fresh('Ed25519')
    const answer = await post(keysUrl, { ...body, publicKeyPem: text, name: ' ' })
    expect(answer.json().code).toBe('private_key_submitted')
    expect((await post(keysUrl, body)).json()).toMatchObject(compromised)
  })
})

describe('a private key in the wrong place', () => {
  const { text, body } = fresh('Ed25519')

  test.each([
    ['a field that there is not', keysUrl, { ...body, privateKeyPem: text }],
    ['a field that a check does not have', '/v1/key-checks', { key: text, algorithm: 'RSA' }],
    ['the algorithm', keysUrl, { ...body, algorithm: text }],
    ['the expireTime', keysUrl, { ...body, expireTime: text }],
    ['the name, with its line breaks', keysUrl, { ...body, name: text }],
    ['a body that is no JSON', keysUrl, text],
  ])('%s: the error says that the key is compromised', async (_where, url, wrong) => {
    const refused = await post(url, wrong)
    expect(refused.json()).toMatchObject({
      status: 400,
      code: 'private_key_submitted',
      detail: expect.stringMatching(/compromised.* a new pair/),
    })
    expectNoEcho(refused.body, text.split('\n')[1] ?? '', '')
  })

  test('a field that a patch does not have', async () => {
    const refused = await patch(`${keysUrl}/${await registerKey(app)}`, { key: text })
    expect(refused.json().code).toBe('private_key_submitted')
  })
})

test('a workload adds ten incidents a minute to a ledger, however many API keys it exchanges', async () => {
  const workloads = await startWorkloadApp()
  await workloads.rule()
  for (let count = 0; count < 12; count += 1) {
    const { text, body } = fresh('Ed25519')
    const refused = await workloads.send('POST', keysUrl, {
      body: { ...body, publicKeyPem: text },
      headers: { 'x-api-key': await workloads.exchangedKey() },
    })
    expect(refused.json().code).toBe('private_key_submitted')
  }
  const { context, project } = workloads
  const events = await readEvents(context.store.reader, project.id, { after: 0, limit: 1_000 })
  expect(events.filter(({ type }) => type === 'private_key.refused')).toHaveLength(10)
})
