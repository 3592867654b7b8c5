import { PubringError } from '../../errors.ts'
import type { Caller } from '../../kernel/access/callers.ts'
import {
  type Access,
  isPowerful,
  projectsWith,
  requireAccess,
  unboundAdmin,
} from '../../kernel/access/grants.ts'
import { requireRecentSignIn } from '../../kernel/access/recent-sign-in.ts'
import { recordEntityTag, requireIfMatch } from '../../kernel/entity-tags.ts'
import { notFound } from '../../kernel/faults.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import type { ChangeOf, Origin } from '../../kernel/ledger/changes.ts'
import { requireUncontradicted } from '../../kernel/ledger/contradictions.ts'
import {
  appendEvents,
  type LockedLedger,
  lockSystemLedger,
} from '../../kernel/ledger/locked-ledger.ts'
import type { Outcome } from '../../kernel/storage/outcome.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { exists } from '../../kernel/storage/statements.ts'
import { requireValidExpiry } from '../../kernel/values/expiry.ts'
import { endSessionsOf } from '../sign-in/apply.ts'
import { lockExchangeLedger } from '../token-exchange/apply.ts'
import { requireLifetime } from './lifetime.ts'
import { patchApiKey, requireOtherAdmin, toApiKey } from './operations.ts'
import {
  type ApiKeyRecord,
  apiKeyColumns,
  apiKeyFromRow,
  apiKeys,
  apiKeyToRow,
  isManaged,
} from './stored.ts'

/**
 * Idempotent by secret: returns the API key that has it already. Deleting a project takes the same
 * lock before it deletes the project's API keys, so no API key outlives its project.
 */
export async function createApiKey(
  db: Db,
  { apiKey, origin, first }: ChangeOf<'api_key.create'>,
): Promise<Outcome<ApiKeyRecord>> {
  const ledger = await lockSystemLedger(db, origin)
  const oldest = first ? await readOldest(db) : undefined
  if (oldest !== undefined) return { result: oldest, changed: false }
  const existing = await db
    .selectFrom('api_key')
    .select(apiKeyColumns)
    .where('digest', '=', apiKey.digest)
    .executeTakeFirst()
  if (existing !== undefined) return { result: apiKeyFromRow(existing), changed: false }
  requireLifetime(ledger.caller?.apiKey, undefined, apiKey)
  if (isPowerful(apiKey.role)) requireRecentSignIn(ledger.caller, origin)
  const { projectId } = apiKey
  const access: Access = projectId === undefined ? unboundAdmin : { role: 'admin', auditor: false }
  if (ledger.caller !== undefined) requireAccess(ledger.caller.grants, access, projectId)
  if (projectId !== undefined) await requireProject(db, projectId)
  await db.insertInto('api_key').values(apiKeyToRow(apiKey)).execute()
  await appendEvents(ledger, [apiKeys.eventOf('created', apiKey)])
  return { result: apiKey, changed: true }
}

export async function updateApiKey(
  db: Db,
  { id, patch, ifMatch, origin }: ChangeOf<'api_key.update'>,
): Promise<Outcome<ApiKeyRecord>> {
  const ledger = await lockSystemLedger(db, origin)
  const before = await findVisible(db, id, ledger.caller)
  if (before.exchanged !== undefined) throw cannotChange()
  requireIfMatch(ifMatch, recordEntityTag(toApiKey(before, origin.time)), 'API key')
  requireUncontradicted('API key', before)
  requireValidExpiry(before, patch, origin.time)
  const after = patchApiKey(before, patch)
  const changes = apiKeys.changes(before, after)
  if (Object.keys(changes).length === 0) return { result: before, changed: false }
  requireLifetime(ledger.caller?.apiKey, before, after)
  if (isPowerful(after.role) && after.enabled) requireRecentSignIn(ledger.caller, origin)
  requireOtherAdmin(await readManaged(db), before, after)
  const { name, role, enabled, expire_time } = apiKeyToRow(after)
  const row = { name, role, enabled, expire_time }
  await db.updateTable('api_key').set(row).where('id', '=', id).execute()
  await appendEvents(ledger, [apiKeys.event('updated', id, changes)])
  return { result: after, changed: true }
}

export async function deleteApiKey(
  db: Db,
  { id, ifMatch, origin }: ChangeOf<'api_key.delete'>,
): Promise<Outcome<undefined>> {
  const found = await apiKeys.find(db, id)
  // As everywhere, the ledger of a project is locked before the system's.
  const exchanges = found?.exchanged && (await lockExchangeLedger(db, found, origin))
  const ledger = await lockSystemLedger(db, origin)
  const apiKey = await findVisible(db, id, ledger.caller)
  requireIfMatch(ifMatch, recordEntityTag(toApiKey(apiKey, origin.time)), 'API key')
  if (exchanges === undefined) requireOtherAdmin(await readManaged(db), apiKey, undefined)
  await remove(ledger, apiKey)
  // There its row is compared with its last event; the system's event ends the copies of its caller.
  if (exchanges !== undefined) await appendEvents(exchanges, [apiKeyDeleted(apiKey)])
  return { result: undefined, changed: true }
}

/** Deletes the API keys bound to a deleted project, since they no longer give any access. */
export async function deleteBoundApiKeys(db: Db, projectId: string, origin: Origin): Promise<void> {
  const bound = (await readManaged(db)).filter((apiKey) => apiKey.projectId === projectId)
  for (const apiKey of bound) await remove(await lockSystemLedger(db, origin), apiKey)
}

async function remove(ledger: LockedLedger, apiKey: ApiKeyRecord): Promise<void> {
  const { db } = ledger
  await db.deleteFrom('api_key').where('id', '=', apiKey.id).execute()
  await appendEvents(ledger, [
    ...(await endSessionsOf(db, { apiKeyId: apiKey.id }, 'api_key_deleted')),
    apiKeyDeleted(apiKey),
  ])
}

function apiKeyDeleted({ id, name, role }: ApiKeyRecord): NewEvent {
  return apiKeys.event('deleted', id, { name: { from: name }, role: { from: role } })
}

/**
 * Records the last uses of API keys and sessions, without an event. A later time, which another replica
 * has recorded, stays. Includes revoked API keys, since an investigation of a leak needs their uses.
 */
export async function touchCredentials(
  db: Db,
  { uses }: ChangeOf<'credential.touch'>,
): Promise<Outcome<undefined>> {
  for (const { type, id, time } of uses) {
    await db
      .updateTable(type)
      .set({ last_use_time: time })
      .where('id', '=', id)
      .where((where) =>
        where.or([where('last_use_time', 'is', null), where('last_use_time', '<', time)]),
      )
      .execute()
  }
  return { result: undefined, changed: true }
}

export async function requireProject(db: Db, id: string): Promise<void> {
  const query = db.selectFrom('project').select('id').where('id', '=', id)
  if (!(await exists(query))) throw notFound('project_not_found')
}

async function readOldest(db: Db): Promise<ApiKeyRecord | undefined> {
  const row = await db
    .selectFrom('api_key')
    .select(apiKeyColumns)
    .where(isManaged)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row && apiKeyFromRow(row)
}

function readManaged(db: Db): Promise<ApiKeyRecord[]> {
  return apiKeys.read(db, (all) => all.where(isManaged))
}

/** To an admin of single projects, the API keys of others do not exist. */
async function findVisible(db: Db, id: string, caller: Caller | undefined): Promise<ApiKeyRecord> {
  const found = await apiKeys.find(db, id)
  const projects =
    caller === undefined ? 'all' : projectsWith(caller.grants, { role: 'admin', auditor: false })
  const isVisible = projects === 'all' || projects.includes(found?.projectId ?? '')
  if (found === undefined || found.sessionId !== undefined || !isVisible) {
    throw notFound('api_key_not_found')
  }
  return found
}

function cannotChange(): PubringError {
  return new PubringError(
    'invalid_request',
    'This API key was exchanged for a token, and ends by itself. It cannot be changed: revoke it, or change its access rule.',
  )
}
