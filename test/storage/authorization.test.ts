import { describe, expect, test } from 'vitest'
import { readAccessRules } from '../../packages/server/src/features/access-rules/reads.ts'
import type { WorkloadRule } from '../../packages/server/src/features/access-rules/stored.ts'
import { apiKeyRecord } from '../../packages/server/src/features/api-keys/operations.ts'
import { readApiKeys } from '../../packages/server/src/features/api-keys/reads.ts'
import type { ApiKeyRecord } from '../../packages/server/src/features/api-keys/stored.ts'
import { keySetOf } from '../../packages/server/src/features/keys/key-sets.ts'
import { readTree } from '../../packages/server/src/features/log/reads.ts'
import { readProjectPage } from '../../packages/server/src/features/projects/reads.ts'
import { readPeople, readSessions } from '../../packages/server/src/features/sign-in/reads.ts'
import { newApiKeySecret } from '../../packages/server/src/kernel/access/secrets.ts'
import { systemLedgerId } from '../../packages/server/src/kernel/ledger/chain.ts'
import type {
  ChangeOf,
  ChangeType,
  Origin,
} from '../../packages/server/src/kernel/ledger/changes.ts'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { accessRuleRecord, exchangedKeyRecord } from '../support/store/access-records.ts'
import { keyRecord } from '../support/store/key-records.ts'
import { createPersonSession, ruleRecord, sessionRecord } from '../support/store/sessions.ts'
import { createProject, limits, openTestStore, origin } from '../support/store/store.ts'

const rule = ruleRecord()

const stored = await openTestStore()
const projectId = (await createProject(stored.store, 'payments')).id
const key = keyRecord(projectId)
await stored.store.commit({ type: 'key.create', origin: origin(), key, limits })
const kid = key.id
const other = await newApiKey('admin')
await stored.store.commit({ type: 'access_rule.create', origin: origin(), rule })
const created = await createPersonSession(stored.store)
const sessionId = created.session.id
const personId = created.person.id
const existing = accessRule()
await stored.store.commit({ type: 'access_rule.create', origin: origin(), rule: existing })

async function newApiKey(role: ApiKeyRecord['role']): Promise<ApiKeyRecord> {
  const apiKey = apiKeyRecord(newApiKeySecret(), origin().time, { name: role, role })
  await stored.store.commit({ type: 'api_key.create', origin: origin(), apiKey })
  return apiKey
}

function accessRule(): WorkloadRule {
  return accessRuleRecord({ projectId })
}

function exposed() {
  const { thumbprint, materialSha256 } = keyRecord(projectId)
  return { thumbprint, materialSha256 }
}

const jwksMaxAge = 60
const rotation = () => ({ projectId, id: newId() })

/** Changes of the system, or of a caller who has no API key yet. */
type Unauthorized =
  | 'key.pass_audit'
  | 'credential.touch'
  | 'log.append'
  | 'log.publish'
  | 'storage.try'
  | 'ledger.accept'
  | 'token.exchange'
  | 'token.forget'

/** One change of each type that a request can cause; a new type does not compile without one. */
const changes: {
  [Type in Exclude<ChangeType, Unauthorized>]: (origin: Origin) => ChangeOf<Type>
} = {
  'project.create': (origin) => ({ type: 'project.create', origin, id: newId(), name: 'other' }),
  'project.rename': (origin) => ({ type: 'project.rename', origin, projectId, name: 'renamed' }),
  'project.delete': (origin) => ({ type: 'project.delete', origin, projectId }),
  'key.create': (origin) => ({ type: 'key.create', origin, key: keyRecord(projectId), limits }),
  'key.import': (origin) => ({
    type: 'key.import',
    origin,
    projectId,
    keys: [{ index: 0, key: keyRecord(projectId), kidProvided: false }],
    limits,
    compared: [],
    dryRun: false,
  }),
  'key.update': (origin) => ({
    type: 'key.update',
    origin,
    projectId,
    kid,
    patch: { active: false },
    limits,
  }),
  'key.delete': (origin) => ({ type: 'key.delete', origin, projectId, kid }),
  'key.report_weakness': (origin) => ({
    type: 'key.report_weakness',
    origin,
    projectId,
    kid,
    weaknesses: ['rsa_roca'],
    deactivate: true,
  }),
  'rotation.start': (origin) => ({
    type: 'rotation.start',
    origin,
    ...{ projectId, id: newId(), from: kid, to: kid, tokenLifetime: 60, jwksMaxAge },
  }),
  'rotation.update': (origin) => {
    const patch = { tokenLifetime: 120 }
    return { type: 'rotation.update', origin, ...rotation(), patch, jwksMaxAge }
  },
  'rotation.finish': (origin) => ({
    type: 'rotation.finish',
    origin,
    ...rotation(),
    jwksMaxAge,
  }),
  'rotation.abandon': (origin) => ({
    type: 'rotation.abandon',
    origin,
    ...rotation(),
    jwksMaxAge,
  }),
  'private_key.refuse': (origin) => ({
    type: 'private_key.refuse',
    origin,
    projectId,
    exposed: exposed(),
  }),
  'api_key.create': (origin) => ({
    type: 'api_key.create',
    origin,
    apiKey: apiKeyRecord(newApiKeySecret(), origin.time, { name: 'planted', role: 'admin' }),
  }),
  'api_key.update': (origin) => ({
    type: 'api_key.update',
    origin,
    id: other.id,
    patch: { role: 'reader' },
  }),
  'api_key.delete': (origin) => ({ type: 'api_key.delete', origin, id: other.id }),
  'log.start': (origin) => ({
    type: 'log.start',
    origin,
    tree: { id: '3c1f5a07', origin: 'keys.example.com/log/3c1f5a07', verifierKey: 'key' },
  }),
  'session.create': (origin) => {
    const session = sessionRecord({ apiKeyId: other.id })
    return { type: 'session.create', origin, session, idleSince: '' }
  },
  'session.end': (origin) => ({
    type: 'session.end',
    origin,
    ended: { ids: [sessionId] },
    reason: 'revoked',
  }),
  'person.delete': (origin) => ({ type: 'person.delete', origin, id: personId }),
  'access_rule.create': (origin) => ({ type: 'access_rule.create', origin, rule: accessRule() }),
  'access_rule.update': (origin) => ({
    type: 'access_rule.update',
    origin,
    id: existing.id,
    patch: { active: false },
  }),
  'access_rule.delete': (origin) => ({ type: 'access_rule.delete', origin, id: existing.id }),
}

/** Everything that the changes above would alter. */
async function state() {
  const { store } = stored
  return {
    heads: await store.heads([projectId, systemLedgerId]),
    projects: await readProjectPage(store.reader, { limit: 10 }),
    keySet: await keySetOf(store, projectId),
    apiKeys: await readApiKeys(store.reader, 'all'),
    log: await readTree(store.reader),
    rules: await readAccessRules(store.reader),
    sessions: await readSessions(store.reader, 'all'),
    people: await readPeople(store.reader),
  }
}

const losses: [string, string, (id: string) => Promise<unknown>][] = [
  [
    'revoked',
    'invalid_api_key',
    (id) => stored.store.commit({ type: 'api_key.delete', origin: origin(), id }),
  ],
  [
    'demoted',
    'insufficient_role',
    (id) =>
      stored.store.commit({
        type: 'api_key.update',
        origin: origin(),
        id,
        patch: { role: 'reader' },
      }),
  ],
]

/** The session of a person who is an admin by the rule, and how that ends. */
const sessionLosses: [string, (id: string) => Promise<unknown>][] = [
  [
    'was ended',
    (id) =>
      stored.store.commit({
        type: 'session.end',
        origin: origin(),
        ended: { ids: [id] },
        reason: 'revoked',
      }),
  ],
  [
    'lost its rule',
    async () => {
      await stored.store.commit({ type: 'access_rule.delete', origin: origin(), id: rule.id })
      return () => stored.store.commit({ type: 'access_rule.create', origin: origin(), rule })
    },
  ],
]

describe.each(sessionLosses)('with a session that %s after the request', (_loss, lose) => {
  test.each(Object.keys(changes) as (keyof typeof changes)[])(
    '%s changes nothing',
    async (type) => {
      const { session } = await createPersonSession(stored.store)
      const restore = await lose(session.id)
      const before = await state()
      const credential = { type: 'session', id: session.id } as const
      const authorization = { credential, access: { role: 'admin', auditor: false } } as const
      const change = changes[type]({ ...origin(), authorization })
      await expect(stored.store.commit(change)).rejects.toMatchObject({ code: 'invalid_session' })
      expect(await state()).toEqual(before)
      if (typeof restore === 'function') await restore()
    },
  )
})

describe.each(losses)(
  'with an API key that was %s after the request was admitted',
  (_loss, code, lose) => {
    test.each(Object.keys(changes) as (keyof typeof changes)[])(
      '%s changes nothing',
      async (type) => {
        const { id } = await newApiKey('admin')
        await lose(id)
        const before = await state()
        const credential = { type: 'api_key', id } as const
        const authorization = { credential, access: { role: 'admin', auditor: false } } as const
        const change = changes[type]({ ...origin(), authorization })
        await expect(stored.store.commit(change)).rejects.toMatchObject({ code })
        expect(await state()).toEqual(before)
      },
    )
  },
)

test.each([
  ['deactivated', { type: 'access_rule.update', patch: { active: false } }],
  ['deleted', { type: 'access_rule.delete' }],
] as const)(
  'with an exchanged API key whose access rule was %s after the request was admitted, nothing changes',
  async (_name, loss) => {
    const { store } = stored
    const accepting = accessRule()
    await store.commit({ type: 'access_rule.create', origin: origin(), rule: accepting })
    const apiKey = exchangedKeyRecord(accepting)
    await store.commit({
      type: 'token.exchange',
      origin: origin(),
      apiKey,
      rule: accepting,
      matched: [],
    })
    const credential = { type: 'api_key', id: apiKey.id } as const
    const authorization = {
      credential,
      access: { role: 'writer', auditor: false },
      projectId,
    } as const
    const create = () =>
      store.commit({
        type: 'key.create',
        origin: { ...origin(), authorization },
        key: keyRecord(projectId),
        limits,
      })
    await create()
    await store.commit({ ...loss, origin: origin(), id: accepting.id })
    const before = await state()
    await expect(create()).rejects.toMatchObject({ code: 'invalid_api_key' })
    expect(await state()).toEqual(before)
  },
)
