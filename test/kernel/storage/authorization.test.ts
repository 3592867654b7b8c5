import { expect, test } from 'vitest'
import { accessRuleChanges } from '../../../packages/server/src/features/access-rules/changes.ts'
import { readAccessRules } from '../../../packages/server/src/features/access-rules/reads.ts'
import type { WorkloadRule } from '../../../packages/server/src/features/access-rules/stored.ts'
import { apiKeyChanges } from '../../../packages/server/src/features/api-keys/changes.ts'
import { apiKeyRecord } from '../../../packages/server/src/features/api-keys/operations.ts'
import { readApiKeys } from '../../../packages/server/src/features/api-keys/reads.ts'
import type { ApiKeyRecord } from '../../../packages/server/src/features/api-keys/stored.ts'
import { keyUseChanges } from '../../../packages/server/src/features/key-uses/changes.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { keySetOf } from '../../../packages/server/src/features/keys/key-sets.ts'
import { logChanges } from '../../../packages/server/src/features/log/changes.ts'
import { readTree } from '../../../packages/server/src/features/log/reads.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { readProjectPage } from '../../../packages/server/src/features/projects/reads.ts'
import { linkChanges } from '../../../packages/server/src/features/registration-links/changes.ts'
import { readLinks } from '../../../packages/server/src/features/registration-links/reads.ts'
import { rotationChanges } from '../../../packages/server/src/features/rotations/changes.ts'
import { signInChanges } from '../../../packages/server/src/features/sign-in/changes.ts'
import { readPeople, readSessions } from '../../../packages/server/src/features/sign-in/reads.ts'
import { exchangeChanges } from '../../../packages/server/src/features/token-exchange/changes.ts'
import { features } from '../../../packages/server/src/features.ts'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import type {
  Authorization,
  ChangeKind,
  Origin,
} from '../../../packages/server/src/kernel/changes.ts'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { accessRuleRecord, exchangedKeyRecord } from '../../support/store/access-records.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { linkRecord } from '../../support/store/links.ts'
import { createPersonSession, ruleRecord, sessionRecord } from '../../support/store/sessions.ts'
import { createProject, limits, openTestStore, origin } from '../../support/store/store.ts'

const stored = await openTestStore()
const projectId = (await createProject(stored.store, 'payments')).id
const key = keyRecord(projectId)
await stored.store.commit(keyChanges.createKey, { origin: origin(), key, limits })
const kid = key.id
const other = await newApiKey('admin')
const created = await createPersonSession(stored.store)
const sessionId = created.session.id
const personId = created.person.id
const link = linkRecord(projectId)
const linked = { projectId, id: link.id }
await stored.store.commit(linkChanges.createLink, { origin: origin(), ...linked, link })
const existing = accessRule()
await stored.store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule: existing })

async function newApiKey(role: ApiKeyRecord['role']): Promise<ApiKeyRecord> {
  const apiKey = apiKeyRecord(newApiKeySecret(), origin().time, { name: role, role })
  await stored.store.commit(apiKeyChanges.createApiKey, { origin: origin(), apiKey })
  return apiKey
}

function accessRule(): WorkloadRule {
  return accessRuleRecord({ projectId })
}

function exposed() {
  const { thumbprint, materialSha256 } = keyRecord(projectId)
  return { thumbprint, materialSha256 }
}

const rotation = () => ({ projectId, id: newId(), jwksMaxAge: 60 })

/** Changes of the system, or of a caller who has no API key yet or needs none. */
const unauthorized = [
  'key.pass_audit',
  'credential.touch',
  'log.append',
  'log.publish',
  'storage.try',
  'ledger.accept',
  'token.exchange',
  'key.end',
  'registration_link.open',
  'api_key.forget',
]

function attempt<Change extends object, Result>(
  kind: ChangeKind<Change, Result>,
  changeOf: (origin: Origin) => Change,
) {
  const commit = (origin: Origin) => stored.store.commit(kind, changeOf(origin))
  return [kind.type, commit] as const
}

/** One change of each kind that a request can cause. */
const attempts = [
  attempt(projectChanges.createProject, (origin) => ({ origin, id: newId(), name: 'other' })),
  attempt(projectChanges.renameProject, (origin) => ({ origin, projectId, name: 'renamed' })),
  attempt(projectChanges.deleteProject, (origin) => ({ origin, projectId })),
  attempt(keyChanges.createKey, (origin) => ({ origin, key: keyRecord(projectId), limits })),
  attempt(keyChanges.importKeys, (origin) => ({
    origin,
    projectId,
    keys: [{ index: 0, key: keyRecord(projectId), kidProvided: false }],
    limits,
    compared: [],
    dryRun: false,
  })),
  attempt(keyChanges.updateKey, (origin) => {
    const patch = { active: false }
    return { origin, projectId, kid, patch, limits }
  }),
  attempt(keyChanges.deleteKey, (origin) => ({ origin, projectId, kid })),
  attempt(keyChanges.reportWeakness, (origin) => ({
    origin,
    projectId,
    kid,
    weaknesses: ['rsa_roca' as const],
    deactivate: true,
  })),
  attempt(keyChanges.refusePrivateKey, (origin) => ({ origin, projectId, exposed: exposed() })),
  attempt(rotationChanges.startRotation, (origin) => {
    return { origin, ...rotation(), from: kid, to: kid, tokenLifetime: 60 }
  }),
  attempt(rotationChanges.updateRotation, (origin) => {
    return { origin, ...rotation(), patch: { tokenLifetime: 120 } }
  }),
  attempt(rotationChanges.finishRotation, (origin) => ({ origin, ...rotation() })),
  attempt(rotationChanges.abandonRotation, (origin) => ({ origin, ...rotation() })),
  attempt(keyUseChanges.reportKeyUses, (origin) => {
    return { origin, projectId, owner: other.id, reporter: 'orders-api', interval: 60, uses: [] }
  }),
  attempt(keyUseChanges.removeReporter, (origin) => {
    return { origin, projectId, reporter: 'orders-api' }
  }),
  attempt(linkChanges.createLink, (origin) => {
    const planted = linkRecord(projectId)
    return { origin, projectId, id: planted.id, link: planted }
  }),
  attempt(linkChanges.recordProof, (origin) => ({ origin, ...linked, kid })),
  attempt(linkChanges.revokeLink, (origin) => ({ origin, ...linked })),
  attempt(apiKeyChanges.createApiKey, (origin) => ({
    origin,
    apiKey: apiKeyRecord(newApiKeySecret(), origin.time, { name: 'planted', role: 'admin' }),
  })),
  attempt(apiKeyChanges.updateApiKey, (origin) => ({
    origin,
    id: other.id,
    patch: { role: 'reader' as const },
  })),
  attempt(apiKeyChanges.deleteApiKey, (origin) => ({ origin, id: other.id })),
  attempt(apiKeyChanges.issueApiKey, (origin) => ({
    origin,
    apiKey: exchangedKeyRecord(existing),
  })),
  attempt(logChanges.startLog, (origin) => ({
    origin,
    tree: { id: '3c1f5a07', origin: 'keys.example.com/log/3c1f5a07', verifierKey: 'key' },
  })),
  attempt(signInChanges.createSession, (origin) => {
    return { origin, session: sessionRecord({ apiKeyId: other.id }) }
  }),
  attempt(signInChanges.endSessions, (origin) => ({
    origin,
    ended: { ids: [sessionId] },
    reason: 'revoked' as const,
  })),
  attempt(signInChanges.deletePerson, (origin) => ({ origin, id: personId })),
  attempt(accessRuleChanges.createAccessRule, (origin) => ({ origin, rule: accessRule() })),
  attempt(accessRuleChanges.updateAccessRule, (origin) => {
    return { origin, id: existing.id, patch: { active: false } }
  }),
  attempt(accessRuleChanges.deleteAccessRule, (origin) => ({ origin, id: existing.id })),
]

test('every kind of change is tried here, unless no request can cause it', () => {
  const kinds = features.flatMap(({ changes }) => changes).map(({ type }) => type)
  const known = [...unauthorized, ...attempts.map(([type]) => type)]
  expect(known.sort()).toEqual(kinds.sort())
})

/** Everything that the changes above would alter. */
async function state() {
  const { store } = stored
  return {
    heads: await store.heads([projectId, systemLedgerId]),
    projects: await readProjectPage(store.reader, { limit: 10 }),
    keySet: await keySetOf(store, projectId),
    links: await readLinks(store.reader, projectId, origin().time),
    apiKeys: await readApiKeys(store.reader, 'all'),
    log: await readTree(store.reader),
    rules: await readAccessRules(store.reader),
    sessions: await readSessions(store.reader, 'all'),
    people: await readPeople(store.reader),
  }
}

test.each(attempts)('%s changes nothing once the API key was revoked', async (_type, commit) => {
  const { id } = await newApiKey('admin')
  await stored.store.commit(apiKeyChanges.deleteApiKey, { origin: origin(), id })
  const before = await state()
  const authorization = { credential: { type: 'api_key' as const, id }, access: admin }
  const asked = commit({ ...origin(), authorization })
  await expect(asked).rejects.toMatchObject({ code: 'invalid_api_key' })
  expect(await state()).toEqual(before)
})

/** How callers lose a right after their requests were admitted, with the authorization of the request. */
const losses: [loss: string, code: string, lose: () => Promise<Authorization>][] = [
  [
    'an API key that was demoted',
    'insufficient_role',
    async () => {
      const { id } = await newApiKey('admin')
      await change(apiKeyChanges.updateApiKey, { id, patch: { role: 'reader' } })
      return { credential: { type: 'api_key', id }, access: admin }
    },
  ],
  [
    'a session that was ended',
    'invalid_session',
    async () => {
      const { session } = await createPersonSession(stored.store)
      const { id } = session
      await change(signInChanges.endSessions, { ended: { ids: [id] }, reason: 'revoked' })
      return { credential: { type: 'session', id }, access: admin }
    },
  ],
  [
    'a session that lost its rule',
    'invalid_session',
    async () => {
      const { id } = await admitGroup('passing')
      const { session } = await createPersonSession(stored.store, {}, { groups: ['passing'] })
      await change(accessRuleChanges.deleteAccessRule, { id })
      return { credential: { type: 'session', id: session.id }, access: admin }
    },
  ],
  [
    'a session whose sign-in is no longer recent',
    'recent_sign_in_required',
    async () => {
      await admitGroup('platform')
      const signInTime = new Date(Date.now() - 901_000).toISOString()
      const { session } = await createPersonSession(stored.store, { signInTime })
      const access = { ...admin, recentSignIn: 'always' } as const
      return { credential: { type: 'session', id: session.id }, access }
    },
  ],
  [
    'an exchanged API key whose rule was deactivated',
    'invalid_api_key',
    async () => {
      const [{ id }, authorization] = await exchangeToken()
      await change(accessRuleChanges.updateAccessRule, { id, patch: { active: false } })
      return authorization
    },
  ],
  [
    'an exchanged API key whose rule was deleted',
    'invalid_api_key',
    async () => {
      const [{ id }, authorization] = await exchangeToken()
      await change(accessRuleChanges.deleteAccessRule, { id })
      return authorization
    },
  ],
]

const admin = { role: 'admin', auditor: false } as const

function change<Change extends { origin: Origin }, Result>(
  kind: ChangeKind<Change, Result>,
  members: Omit<Change, 'origin'>,
) {
  return stored.store.commit(kind, { origin: origin(), ...members } as Change)
}

async function admitGroup(groups: string) {
  const admitting = ruleRecord({ conditions: { groups } })
  await change(accessRuleChanges.createAccessRule, { rule: admitting })
  return admitting
}

/** An exchanged API key, which can register keys. */
async function exchangeToken(): Promise<[WorkloadRule, Authorization]> {
  const accepting = accessRule()
  await change(accessRuleChanges.createAccessRule, { rule: accepting })
  const apiKey = exchangedKeyRecord(accepting)
  await change(exchangeChanges.exchangeToken, { apiKey, rule: accepting, matched: [] })
  const access = { role: 'writer', auditor: false } as const
  const authorization = {
    credential: { type: 'api_key', id: apiKey.id },
    access,
    projectId,
  } as const
  await register(authorization)
  return [accepting, authorization]
}

function register(authorization: Authorization) {
  const asked = { ...origin(new Date().toISOString()), authorization }
  return stored.store.commit(keyChanges.createKey, {
    origin: asked,
    key: keyRecord(projectId),
    limits,
  })
}

test.each(losses)('with %s meanwhile, nothing changes', async (_loss, code, lose) => {
  const authorization = await lose()
  const before = await state()
  await expect(register(authorization)).rejects.toMatchObject({ code })
  expect(await state()).toEqual(before)
})

test.each<[string, code: string, narrow: () => Promise<Authorization>]>([
  [
    'has an end since',
    'insufficient_lifetime',
    async () => {
      const { id } = await newApiKey('admin')
      const patch = { expireTime: '2099-01-01T00:00:00.000Z' }
      await change(apiKeyChanges.updateApiKey, { id, patch })
      return { credential: { type: 'api_key', id }, access: admin }
    },
  ],
  [
    'is admin of one project since',
    'insufficient_role',
    async () => {
      const { id } = await admitGroup('narrowed')
      const { session } = await createPersonSession(stored.store, {}, { groups: ['narrowed'] })
      const rule = ruleRecord({ conditions: { groups: 'narrowed' }, projectId })
      await change(accessRuleChanges.createAccessRule, { rule })
      await change(accessRuleChanges.deleteAccessRule, { id })
      return { credential: { type: 'session', id: session.id }, access: admin }
    },
  ],
])('an admin who %s creates no API key that may do more', async (_change, code, narrow) => {
  const authorization = await narrow()
  const before = await state()
  const apiKey = apiKeyRecord(newApiKeySecret(), origin().time, { name: 'planted', role: 'admin' })
  const asked = { origin: { ...origin(), authorization }, apiKey }
  await expect(stored.store.commit(apiKeyChanges.createApiKey, asked)).rejects.toMatchObject({
    code,
  })
  expect(await state()).toEqual(before)
})
