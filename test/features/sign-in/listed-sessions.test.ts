import { expect, test } from 'vitest'
import { accessRuleChanges } from '../../../packages/server/src/features/access-rules/changes.ts'
import { apiKeyChanges } from '../../../packages/server/src/features/api-keys/changes.ts'
import { apiKeyRecord } from '../../../packages/server/src/features/api-keys/operations.ts'
import { signInChanges } from '../../../packages/server/src/features/sign-in/changes.ts'
import { listSessions } from '../../../packages/server/src/features/sign-in/sessions.ts'
import type { Principal } from '../../../packages/server/src/kernel/access/principal.ts'
import { newApiKeySecret } from '../../../packages/server/src/kernel/access/secrets.ts'
import { always } from '../../../packages/server/src/kernel/values/validity.ts'
import { systemClock } from '../../../packages/server/src/runtime/clock.ts'
import { observedReads } from '../../support/store/observed-reads.ts'
import { createPersonSession, ruleRecord, sessionRecord } from '../../support/store/sessions.ts'
import { openTestStore, origin } from '../../support/store/store.ts'

test('a list of sessions reads only the people and API keys whose sessions it shows', async () => {
  const { store } = await openTestStore()
  await store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule: ruleRecord() })
  for (const _person of [1, 2]) await createPersonSession(store)
  const apiKeys = ['owner', 'other', 'without'].map((name) =>
    apiKeyRecord(newApiKeySecret(), origin().time, { name, role: 'reader' }),
  )
  for (const apiKey of apiKeys) {
    await store.commit(apiKeyChanges.createApiKey, { origin: origin(), apiKey })
    if (apiKey.name === 'without') continue
    const session = sessionRecord({ apiKeyId: apiKey.id })
    await store.commit(signInChanges.createSession, { origin: origin(), session })
  }
  const validity = { heads: [], ...always }
  let rows = 0
  const reader = observedReads(store.reader, {
    read(count) {
      rows += count
    },
  })
  const context = { store: { ...store, reader }, clock: systemClock }
  async function list(holder: Principal['holder'], role: 'reader' | 'auditor') {
    rows = 0
    const credential = { type: 'api_key', id: '' } as const
    const actor = { name: 'reader' }
    const caller = { credential, holder, callerId: '', actor, grants: [{ role }], validity }
    const listed = await listSessions(context, caller)
    return { names: listed.map(({ name }) => name), rows }
  }
  const [owner, , without] = apiKeys.map(({ id }) => ({ apiKeyId: id }))
  if (!owner || !without) throw new Error('an API key is missing')
  expect(await list(without, 'reader')).toEqual({ names: [], rows: 0 })
  // A session and its holder.
  expect(await list(owner, 'reader')).toEqual({ names: ['owner'], rows: 2 })
  expect(await list(without, 'auditor')).toEqual({
    names: ['Ada Lovelace', 'Ada Lovelace', 'owner', 'other'],
    rows: 8,
  })
})
