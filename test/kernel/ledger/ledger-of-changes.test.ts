import { expect, test } from 'vitest'
import { features } from '../../../packages/server/src/features.ts'
import {
  type LedgerEvent,
  systemLedgerId,
} from '../../../packages/server/src/kernel/ledger/chain.ts'
import { readEvents } from '../../../packages/server/src/kernel/ledger/event-reads.ts'
import { startApp, type TestApp } from '../../support/app/app.ts'
import { testClock } from '../../support/app/clock.ts'
import {
  bringKey,
  createLink,
  exchange,
  linksUrl,
  openLink,
  tokenChecksUrl,
} from '../../support/app/registration-links.ts'
import { ecKey, privatePem } from '../../support/keys/pem.ts'
import { createKeyFile } from '../../support/log/key-file.ts'
import { createPersonSession } from '../../support/store/sessions.ts'

const clock = testClock()

const logKey = createKeyFile()
const server = await startApp({ logSigner: logKey.open(), clock })
const { id, name } = (await server.send('GET', '/v1/api-keys/self')).json()
const actor = { apiKeyId: id, name }

const keys = '/v1/projects/payments/jwt-keys'
const keyBody = (publicKeyPem = ecKey().publicKeyPem) => ({
  name: 'n',
  algorithm: 'ES256',
  publicKeyPem,
})

const accessRules = '/v1/access-rules'
const ruleBody = {
  for: 'workloads',
  name: 'n',
  issuer: 'https://issuer.test',
  conditions: { sub: 'orders' },
  role: 'writer',
  project: 'payments',
}

async function made(url: string, body?: object): Promise<{ id: string; kid: string }> {
  const answer = await server.send('POST', url, body === undefined ? {} : { body })
  expect(answer.statusCode, answer.body).toBe(201)
  return answer.json()
}
const newProject = (name: string) => made('/v1/projects', { name })
const newApiKey = () => made('/v1/api-keys', { name: 'n', role: 'reader', project: 'payments' })

/** The events that a change leaves, ledger by ledger, and nothing else. */
type Events = [ledgerId: string, type: string, subject: { type: string; id: string }][]

/** A request that makes a change. */
interface Request {
  /** POST if absent. */
  method?: 'POST' | 'PATCH' | 'DELETE'
  url: string
  body?: object
  /** Another way to send it. */
  send?(): ReturnType<TestApp['send']>
  events: Events | ((answer: { id: string; kid: string }) => Events | Promise<Events>)
  /** The admin if absent. */
  by?: object
}

/** Changes that no request makes: those of commands are tried with them. */
const unrequested = [
  'credential.touch',
  'storage.try',
  'key.report_weakness',
  'key.pass_audit',
  'log.append',
  'log.publish',
  'ledger.accept',
  'api_key.forget',
  // They leave no event: `test/features/key-uses/key-uses.test.ts`.
  'key_use.report',
  'key_use.remove_reporter',
  // Its actor is the workload: `test/features/token-exchange/token-exchange.test.ts`.
  'token.exchange',
  // Its actor is the key: `test/features/keys/ending.test.ts`.
  'key.end',
  // Its actor is the person: `test/features/sign-in/command-line.test.ts`.
  'api_key.issue',
]

/** A change of each other kind: prepares its request. */
const changes: Record<string, () => Promise<Request>> = {
  'project.create': async () => ({
    url: '/v1/projects',
    body: { name: 'created' },
    events: ({ id }) => both(id, 'project.created'),
  }),
  'project.rename': async () => {
    const { id } = await newProject('before')
    const body = { name: 'after' }
    return { ...patch(`/v1/projects/${id}`, body), events: both(id, 'project.renamed') }
  },
  'project.delete': async () => {
    const { id } = await newProject('deleted')
    return { ...remove(`/v1/projects/${id}`), events: both(id, 'project.deleted') }
  },
  'key.create': async () => ({
    url: keys,
    body: keyBody(),
    events: ({ kid }) => inProject(kid, 'key.created'),
  }),
  'key.import': async () => ({
    url: '/v1/projects/payments/key-imports',
    body: { keys: [keyBody(), keyBody()] },
    events: (answer) => {
      const { items } = answer as unknown as { items: { kid: string }[] }
      return items.flatMap(({ kid }) => inProject(kid, 'key.created'))
    },
  }),
  'key.update': async () => {
    const { kid } = await made(keys, keyBody())
    return { ...patch(`${keys}/${kid}`, { label: 'other' }), events: inProject(kid, 'key.updated') }
  },
  'key.delete': async () => {
    const { kid } = await made(keys, { ...keyBody(), active: false })
    return { ...remove(`${keys}/${kid}`), events: inProject(kid, 'key.deleted') }
  },
  'rotation.start': async () => ({
    url: rotations,
    body: await twoKeys(),
    events: ({ id }) => inProject(id, 'rotation.started', 'rotation'),
  }),
  'rotation.update': async () => {
    const { id } = await made(rotations, await twoKeys())
    const body = { tokenLifetime: 120 }
    const events = inProject(id, 'rotation.updated', 'rotation')
    return { ...patch(`${rotations}/${id}`, body), events }
  },
  'rotation.finish': async () => {
    const body = await twoKeys()
    const { id } = await made(rotations, body)
    clock.advance(61_000)
    const finished = inProject(id, 'rotation.finished', 'rotation')
    const events = [...inProject(body.from, 'key.updated'), ...finished]
    return { url: `${rotations}/${id}/finish`, events }
  },
  'rotation.abandon': async () => {
    const { id } = await made(rotations, await twoKeys())
    const events = inProject(id, 'rotation.abandoned', 'rotation')
    return { ...remove(`${rotations}/${id}`), events }
  },
  'registration_link.create': async () => ({
    url: linksUrl,
    body: { note: 'ACME' },
    events: ({ id }) => inProject(id, 'registration_link.created', link),
  }),
  'registration_link.open': async () => {
    const { id, secret } = await createLink(server)
    const events = inProject(id, 'registration_link.opened', link)
    return { url: '', send: () => exchange(server, secret), by: byLink(id), events }
  },
  'registration_link.record_proof': async () => {
    const { id, secret } = await createLink(server)
    const browser = await openLink(server, secret)
    const { sign } = await bringKey(browser)
    const send = () => browser.send('POST', tokenChecksUrl, { token: sign() })
    const events = inProject(id, 'registration_link.token_checked', link)
    return { url: '', send, by: byLink(id), events }
  },
  'registration_link.revoke': async () => {
    const { id } = await createLink(server)
    const events = inProject(id, 'registration_link.revoked', link)
    return { ...remove(`${linksUrl}/${id}`), events }
  },
  'private_key.refuse': async () => ({
    url: keys,
    body: keyBody(privatePem(ecKey())),
    events: inProject(server.project.id, 'private_key.refused', 'project'),
  }),
  'api_key.create': async () => ({
    url: '/v1/api-keys',
    body: { name: 'n', role: 'reader' },
    events: ({ id }) => inSystem(id, 'api_key.created'),
  }),
  'api_key.update': async () => {
    const { id } = await newApiKey()
    const events = inSystem(id, 'api_key.updated')
    return { ...patch(`/v1/api-keys/${id}`, { name: 'other' }), events }
  },
  'api_key.delete': async () => {
    const { id } = await newApiKey()
    return { ...remove(`/v1/api-keys/${id}`), events: inSystem(id, 'api_key.deleted') }
  },
  'log.start': async () => ({
    url: '/v1/log/restarts',
    events: inSystem(systemLedgerId, 'log.started', 'registry'),
  }),
  'session.create': async () => ({
    url: '/v1/sessions',
    events: ({ id }) => inSystem(id, 'session.created', 'session'),
  }),
  'session.end': async () => {
    const { id } = await made('/v1/sessions')
    return { ...remove(`/v1/sessions/${id}`), events: inSystem(id, 'session.ended', 'session') }
  },
  'person.delete': async () => {
    const { person } = await createPersonSession(server.context.store)
    const events = async () => {
      const [ended, deleted] = (await ledger(systemLedgerId)).slice(-2)
      return [
        ...inSystem(ended?.subject.id ?? '', 'session.ended', 'session'),
        ...inSystem(deleted?.subject.id ?? '', 'person.deleted', 'person'),
      ]
    }
    return { ...remove(`/v1/people/${person.id}`), events }
  },
  'access_rule.create': async () => ({
    url: accessRules,
    body: ruleBody,
    events: ({ id }) => inSystem(id, 'access_rule.created', 'access_rule'),
  }),
  'access_rule.update': async () => {
    const { id } = await made(accessRules, ruleBody)
    const events = endingKeys(id, 'access_rule.updated')
    return { ...patch(`${accessRules}/${id}`, { active: false }), events }
  },
  'access_rule.delete': async () => {
    const { id } = await made(accessRules, ruleBody)
    return { ...remove(`${accessRules}/${id}`), events: endingKeys(id, 'access_rule.deleted') }
  },
}

const patch = (url: string, body: object) => ({ method: 'PATCH', url, body }) as const
const remove = (url: string) => ({ method: 'DELETE', url }) as const

const link = 'registration_link'
const byLink = (id: string) => {
  const { apiKeyId } = actor
  return { name: 'ACME', link: { id, createdBy: { apiKeyId } } }
}
const rotations = '/v1/projects/payments/rotations'
const twoKeys = async () => ({
  from: (await made(keys, keyBody())).kid,
  to: (await made(keys, keyBody())).kid,
  tokenLifetime: 60,
})

const inProject = (id: string, type: string, subject = 'key'): Events => [
  [server.project.id, type, { type: subject, id }],
]
const inSystem = (id: string, type: string, subject = 'api_key'): Events => [
  [systemLedgerId, type, { type: subject, id }],
]
const both = (id: string, type: string): Events => [
  [id, type, { type: 'project', id }],
  ...inSystem(id, type, 'project'),
]
/** The project's ledger has the end of the API keys that were exchanged under the rule. */
const endingKeys = (id: string, type: string): Events => [
  ...inProject(id, 'access_rule.keys_ended', 'access_rule'),
  ...inSystem(id, type, 'access_rule'),
]

async function ledger(id: string): Promise<LedgerEvent[]> {
  return readEvents(server.context.store.reader, id, { after: 0, limit: 1_000 })
}

test('every kind of change is done here, unless no request can cause it', () => {
  const kinds = features.flatMap(({ changes }) => changes).map(({ type }) => type)
  expect([...unrequested, ...Object.keys(changes)].sort()).toEqual(kinds.sort())
})

test.each(Object.entries(changes))(
  '%s is in its ledger, with its actor',
  async (_type, prepare) => {
    const { method = 'POST', url, body, by = actor, ...request } = await prepare()
    const before = {
      system: await ledger(systemLedgerId),
      project: await ledger(server.project.id),
    }
    const options = body === undefined ? {} : { body }
    const answer = await (request.send?.() ?? server.send(method, url, options))
    const events =
      typeof request.events === 'function'
        ? await request.events(JSON.parse(answer.body || '{}'))
        : request.events
    const expected = events.map(([ledgerId, type, subject]) =>
      expect.objectContaining({
        ledgerId,
        type,
        subject,
        actor: by,
        requestId: answer.headers['x-request-id'],
        time: expect.stringMatching(/^2\d{3}-/),
      }),
    )
    const system = (await ledger(systemLedgerId)).slice(before.system.length)
    const project = (await ledger(server.project.id)).slice(before.project.length)
    const others = events
      .map(([ledgerId]) => ledgerId)
      .filter((id) => id !== systemLedgerId && id !== server.project.id)
    const own = await Promise.all(others.map(async (id) => (await ledger(id)).slice(-1)))
    expect([...own.flat(), ...project, ...system]).toEqual(expected)
  },
)

test('API keys that go with their project are in the ledger one by one', async () => {
  const { id } = await newProject('with-keys')
  const first = await made('/v1/api-keys', { name: 'n', role: 'reader', project: id })
  const second = await made('/v1/api-keys', { name: 'n', role: 'admin', project: id })
  const before = await ledger(systemLedgerId)
  await server.send('DELETE', `/v1/projects/${id}`)
  const events = (await ledger(systemLedgerId)).slice(before.length)
  expect(events.map(({ type, subject }) => [type, subject.id])).toEqual([
    ['project.deleted', id],
    ['api_key.deleted', first.id],
    ['api_key.deleted', second.id],
  ])
  expect(events.map((event) => event.actor)).toEqual([actor, actor, actor])
})

test('what is refused, and what changes nothing, leaves no event', async () => {
  const { id } = await newApiKey()
  const { kid } = await made(keys, keyBody())
  const before = [await ledger(systemLedgerId), await ledger(server.project.id)]
  await server.send('POST', '/v1/projects', { body: { name: 'payments' } })
  await server.send('PATCH', '/v1/projects/payments', { body: { name: 'payments' } })
  await server.send('PATCH', `/v1/api-keys/${id}`, { body: { name: 'n', role: 'reader' } })
  await server.send('PATCH', `/v1/api-keys/${id}`, { body: {} })
  await server.send('DELETE', `/v1/api-keys/${actor.apiKeyId.replace(/.$/, 'x')}`)
  await server.send('POST', keys, { body: keyBody('no key') })
  await server.send('DELETE', `${keys}/${kid}`)
  const headers = { 'if-match': '"x"' }
  await server.send('PATCH', `${keys}/${kid}`, { body: { label: 'x' }, headers })
  await server.send('PATCH', `${keys}/${kid}`, { body: {} })
  expect([await ledger(systemLedgerId), await ledger(server.project.id)]).toEqual(before)
})

test('no event says anything of a secret but when it was made', async () => {
  const text = JSON.stringify(await ledger(systemLedgerId))
  expect(text).not.toMatch(/pubring_|digest|prefix/)
})
