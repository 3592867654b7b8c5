import type { Kysely } from 'kysely'
import { projectNotFound } from '../../core/access.ts'
import {
  apiKeyChanges,
  apiKeyNotFound,
  patchApiKey,
  requireOtherAdmin,
  toApiKey,
} from '../../core/api-keys/operations.ts'
import { requireValidExpiry } from '../../core/expiry.ts'
import { apiKeyEntityTag, requireMatch } from '../../core/keys/preconditions.ts'
import { type EventChanges, type EventType, systemLedgerId } from '../../core/ledger/chain.ts'
import type { ChangeOf, Origin } from '../../core/ledger/changes.ts'
import type { ApiKeyRecord } from '../../core/records.ts'
import { apiKeyColumns, apiKeyFromRow, apiKeyToRow } from '../row-mapping.ts'
import type { Tables } from '../schema.ts'
import type { Outcome } from './apply.ts'
import { appendEvent, type LockedLedger, lockLedger } from './ledger.ts'

type Db = Kysely<Tables>

/**
 * Idempotent by secret: one that is registered already is answered as it stands. Whether its project
 * is there is asked under the lock that deleting a project takes before it looks for API keys.
 */
export async function createApiKey(
  db: Db,
  { apiKey, origin, first }: ChangeOf<'api_key.create'>,
): Promise<Outcome<ApiKeyRecord>> {
  const head = await lockSystemLedger(db)
  const oldest = first ? await readOldest(db) : undefined
  if (oldest !== undefined) return { result: oldest, changed: false }
  const twin = await db
    .selectFrom('api_key')
    .select(apiKeyColumns)
    .where('digest', '=', apiKey.digest)
    .executeTakeFirst()
  if (twin !== undefined) return { result: apiKeyFromRow(twin), changed: false }
  if (apiKey.projectId !== undefined) await requireProject(db, apiKey.projectId)
  await db.insertInto('api_key').values(apiKeyToRow(apiKey)).execute()
  await append(db, head, origin, 'api_key.created', apiKey.id, apiKeyChanges(undefined, apiKey))
  return { result: apiKey, changed: true }
}

export async function updateApiKey(
  db: Db,
  { id, boundTo, patch, ifMatch, origin }: ChangeOf<'api_key.update'>,
): Promise<Outcome<ApiKeyRecord>> {
  const head = await lockSystemLedger(db)
  const all = await readApiKeys(db)
  const before = find(all, id, boundTo)
  requireMatch(ifMatch, apiKeyEntityTag(toApiKey(before, origin.time)), 'API key')
  requireValidExpiry(before, patch, origin.time)
  const after = patchApiKey(before, patch)
  const changes = apiKeyChanges(before, after)
  if (Object.keys(changes).length === 0) return { result: before, changed: false }
  requireOtherAdmin(all, before, after)
  const { name, role, enabled, expire_time } = apiKeyToRow(after)
  await db
    .updateTable('api_key')
    .set({ name, role, enabled, expire_time })
    .where('id', '=', id)
    .execute()
  await append(db, head, origin, 'api_key.updated', id, changes)
  return { result: after, changed: true }
}

export async function deleteApiKey(
  db: Db,
  { id, boundTo, ifMatch, origin }: ChangeOf<'api_key.delete'>,
): Promise<Outcome<undefined>> {
  const head = await lockSystemLedger(db)
  const all = await readApiKeys(db)
  const apiKey = find(all, id, boundTo)
  requireMatch(ifMatch, apiKeyEntityTag(toApiKey(apiKey, origin.time)), 'API key')
  requireOtherAdmin(all, apiKey, undefined)
  await remove(db, head, origin, apiKey)
  return { result: undefined, changed: true }
}

/** API keys go with the project that they are bound to: they could never open anything again. */
export async function deleteBoundApiKeys(db: Db, projectId: string, origin: Origin): Promise<void> {
  const bound = (await readApiKeys(db)).filter((apiKey) => apiKey.projectId === projectId)
  for (const apiKey of bound) await remove(db, await lockSystemLedger(db), origin, apiKey)
}

async function remove(
  db: Db,
  head: LockedLedger,
  origin: Origin,
  apiKey: ApiKeyRecord,
): Promise<void> {
  await db.deleteFrom('api_key').where('id', '=', apiKey.id).execute()
  await append(db, head, origin, 'api_key.deleted', apiKey.id, {
    name: { from: apiKey.name },
    role: { from: apiKey.role },
  })
}

/**
 * Notes when API keys were last used: no event, and nothing earlier than what another replica noted.
 * Also of those that were revoked since: whoever looks into a leak wants to know.
 */
export async function touchApiKeys(
  db: Db,
  { uses }: ChangeOf<'api_key.touch'>,
): Promise<Outcome<undefined>> {
  for (const { id, time } of uses) {
    await db
      .updateTable('api_key')
      .set({ last_use_time: time })
      .where('id', '=', id)
      .where((where) =>
        where.or([where('last_use_time', 'is', null), where('last_use_time', '<', time)]),
      )
      .execute()
  }
  return { result: undefined, changed: true }
}

async function lockSystemLedger(db: Db): Promise<LockedLedger> {
  const head = await lockLedger(db, systemLedgerId)
  if (head === undefined) throw new Error('the system ledger is missing')
  return head
}

async function requireProject(db: Db, id: string): Promise<void> {
  const project = await db
    .selectFrom('project')
    .select('id')
    .where('id', '=', id)
    .executeTakeFirst()
  if (project === undefined) throw projectNotFound()
}

async function readOldest(db: Db): Promise<ApiKeyRecord | undefined> {
  const row = await db
    .selectFrom('api_key')
    .select(apiKeyColumns)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row && apiKeyFromRow(row)
}

async function readApiKeys(db: Db): Promise<ApiKeyRecord[]> {
  const rows = await db.selectFrom('api_key').select(apiKeyColumns).execute()
  return rows.map(apiKeyFromRow)
}

/** An admin bound to a project sees its project's API keys alone; others are not there for it. */
function find(all: readonly ApiKeyRecord[], id: string, boundTo: string | undefined): ApiKeyRecord {
  const found = all.find((apiKey) => apiKey.id === id)
  if (found === undefined || (boundTo ?? found.projectId) !== found.projectId) {
    throw apiKeyNotFound()
  }
  return found
}

async function append(
  db: Db,
  head: LockedLedger,
  origin: Origin,
  type: EventType,
  id: string,
  changes: EventChanges,
): Promise<void> {
  const { time, actor, requestId } = origin
  const subject = { type: 'api_key', id } as const
  await appendEvent(db, head, { type, time, actor, subject, changes, requestId })
}
