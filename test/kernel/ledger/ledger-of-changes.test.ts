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

async function made(url: string, body: object): Promise<{ id: string; kid: string }> {
  const answer = await server.send('POST', url, { body })
  expect(answer.statusCode, answer.body).toBe(201)
  return answer.json()
}
const newProject = (name: string) => made('/v1/projects', { name })
const newApiKey = () => made('/v1/api-keys', { name: 'n', role: 'reader', project: 'payments' })

type Sent = Awaited<ReturnType<TestApp['send']>>
interface Done {
  answer: Sent
  /** Ledger by ledger: the event that the change must leave there, and nothing else. */
  events: [ledgerId: string, type: string, subject: { type: string; id: string }][]
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

/** A change of each other kind, done by a request. */
const changes: Record<string, () => Promise<() => Promise<Done>>> = {
  'project.create': async () => async () => {
    const answer = await server.send('POST', '/v1/projects', { body: { name: 'created' } })
    const subject = { type: 'project', id: answer.json().id }
    return { answer, events: both(subject, 'project.created') }
  },
  'project.rename': async () => {
    const { id } = await newProject('before')
    return async () => {
      const answer = await server.send('PATCH', `/v1/projects/${id}`, { body: { name: 'after' } })
      return { answer, events: both({ type: 'project', id }, 'project.renamed') }
    }
  },
  'project.delete': async () => {
    const { id } = await newProject('deleted')
    return async () => {
      const answer = await server.send('DELETE', `/v1/projects/${id}`)
      return { answer, events: both({ type: 'project', id }, 'project.deleted') }
    }
  },
  'key.create': async () => async () => {
    const answer = await server.send('POST', keys, { body: keyBody() })
    return { answer, events: inProject(answer.json().kid, 'key.created') }
  },
  'key.import': async () => async () => {
    const body = { keys: [keyBody(), keyBody()] }
    const answer = await server.send('POST', '/v1/projects/payments/key-imports', { body })
    const items: { kid: string }[] = answer.json().items
    return { answer, events: items.flatMap(({ kid }) => inProject(kid, 'key.created')) }
  },
  'key.update': async () => {
    const { kid } = await made(keys, keyBody())
    return async () => {
      const answer = await server.send('PATCH', `${keys}/${kid}`, { body: { label: 'other' } })
      return { answer, events: inProject(kid, 'key.updated') }
    }
  },
  'key.delete': async () => {
    const { kid } = await made(keys, { ...keyBody(), active: false })
    return async () => {
      const answer = await server.send('DELETE', `${keys}/${kid}`)
      return { answer, events: inProject(kid, 'key.deleted') }
    }
  },
  'rotation.start': async () => {
    const body = await twoKeys()
    return async () => {
      const answer = await server.send('POST', rotations, { body })
      return { answer, events: inProject(answer.json().id, 'rotation.started', 'rotation') }
    }
  },
  'rotation.update': async () => {
    const { id } = await made(rotations, await twoKeys())
    return async () => {
      const body = { tokenLifetime: 120 }
      const answer = await server.send('PATCH', `${rotations}/${id}`, { body })
      return { answer, events: inProject(id, 'rotation.updated', 'rotation') }
    }
  },
  'rotation.finish': async () => {
    const body = await twoKeys()
    const { id } = await made(rotations, body)
    clock.advance(61_000)
    return async () => {
      const answer = await server.send('POST', `${rotations}/${id}/finish`)
      const events = [
        ...inProject(body.from, 'key.updated'),
        ...inProject(id, 'rotation.finished', 'rotation'),
      ]
      return { answer, events }
    }
  },
  'rotation.abandon': async () => {
    const { id } = await made(rotations, await twoKeys())
    return async () => {
      const answer = await server.send('DELETE', `${rotations}/${id}`)
      return { answer, events: inProject(id, 'rotation.abandoned', 'rotation') }
    }
  },
  'registration_link.create': async () => async () => {
    const answer = await server.send('POST', linksUrl, { body: { note: 'ACME' } })
    return { answer, events: inProject(answer.json().id, 'registration_link.created', link) }
  },
  'registration_link.open': async () => {
    const { id, secret } = await createLink(server)
    return async () => {
      const answer = await exchange(server, secret)
      return { answer, by: byLink(id), events: inProject(id, 'registration_link.opened', link) }
    }
  },
  'registration_link.record_proof': async () => {
    const { id, secret } = await createLink(server)
    const browser = await openLink(server, secret)
    const { sign } = await bringKey(browser)
    return async () => {
      const answer = await browser.send('POST', tokenChecksUrl, { token: sign() })
      const events = inProject(id, 'registration_link.token_checked', link)
      return { answer, by: byLink(id), events }
    }
  },
  'registration_link.revoke': async () => {
    const { id } = await createLink(server)
    return async () => {
      const answer = await server.send('DELETE', `${linksUrl}/${id}`)
      return { answer, events: inProject(id, 'registration_link.revoked', link) }
    }
  },
  'private_key.refuse': async () => async () => {
    const answer = await server.send('POST', keys, { body: keyBody(privatePem(ecKey())) })
    const subject = { type: 'project', id: server.project.id }
    return { answer, events: [[server.project.id, 'private_key.refused', subject]] }
  },
  'api_key.create': async () => async () => {
    const body = { name: 'n', role: 'reader' }
    const answer = await server.send('POST', '/v1/api-keys', { body })
    return { answer, events: inSystem(answer.json().id, 'api_key.created') }
  },
  'api_key.update': async () => {
    const { id } = await newApiKey()
    return async () => {
      const answer = await server.send('PATCH', `/v1/api-keys/${id}`, { body: { name: 'other' } })
      return { answer, events: inSystem(id, 'api_key.updated') }
    }
  },
  'api_key.delete': async () => {
    const { id } = await newApiKey()
    return async () => {
      const answer = await server.send('DELETE', `/v1/api-keys/${id}`)
      return { answer, events: inSystem(id, 'api_key.deleted') }
    }
  },
  'log.start': async () => async () => {
    const answer = await server.send('POST', '/v1/log/restarts')
    const subject = { type: 'registry', id: systemLedgerId }
    return { answer, events: [[systemLedgerId, 'log.started', subject]] }
  },
  'session.create': async () => async () => {
    const answer = await server.send('POST', '/v1/sessions')
    return { answer, events: inSystem(answer.json().id, 'session.created', 'session') }
  },
  'session.end': async () => {
    const { id } = (await server.send('POST', '/v1/sessions')).json()
    return async () => {
      const answer = await server.send('DELETE', `/v1/sessions/${id}`)
      return { answer, events: inSystem(id, 'session.ended', 'session') }
    }
  },
  'person.delete': async () => {
    const { person } = await createPersonSession(server.context.store)
    return async () => {
      const answer = await server.send('DELETE', `/v1/people/${person.id}`)
      const [ended, deleted] = (await ledger(systemLedgerId)).slice(-2)
      expect(ended?.type).toBe('session.ended')
      return {
        answer,
        events: [
          ...inSystem(ended?.subject.id ?? '', 'session.ended', 'session'),
          ...inSystem(deleted?.subject.id ?? '', 'person.deleted', 'person'),
        ],
      }
    }
  },
  'access_rule.create': async () => async () => {
    const answer = await server.send('POST', accessRules, { body: ruleBody })
    return { answer, events: inSystem(answer.json().id, 'access_rule.created', 'access_rule') }
  },
  'access_rule.update': async () => {
    const { id } = await made(accessRules, ruleBody)
    return async () => {
      const answer = await server.send('PATCH', `${accessRules}/${id}`, { body: { active: false } })
      const ended = inProject(id, 'access_rule.keys_ended', 'access_rule')
      const events = [...ended, ...inSystem(id, 'access_rule.updated', 'access_rule')]
      return { answer, events }
    }
  },
  'access_rule.delete': async () => {
    const { id } = await made(accessRules, ruleBody)
    return async () => {
      const answer = await server.send('DELETE', `${accessRules}/${id}`)
      const ended = inProject(id, 'access_rule.keys_ended', 'access_rule')
      const events = [...ended, ...inSystem(id, 'access_rule.deleted', 'access_rule')]
      return { answer, events }
    }
  },
}

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

const inProject = (id: string, type: string, subject = 'key'): Done['events'] => [
  [server.project.id, type, { type: subject, id }],
]
const inSystem = (id: string, type: string, subject = 'api_key'): Done['events'] => [
  [systemLedgerId, type, { type: subject, id }],
]
const both = (subject: { type: string; id: string }, type: string): Done['events'] => [
  [subject.id, type, subject],
  [systemLedgerId, type, subject],
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
    const change = await prepare()
    const before = {
      system: await ledger(systemLedgerId),
      project: await ledger(server.project.id),
    }
    const { answer, events, by = actor } = await change()
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
