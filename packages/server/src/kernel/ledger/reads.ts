import { type Selectable, sql } from 'kysely'
import type { ProjectRef } from '../context.ts'
import type { LedgerHead, ProjectRecord } from '../records.ts'
import { eventFromRow } from '../storage/row-mapping.ts'
import type { Db, Tables } from '../storage/schema.ts'
import { inChunks } from '../storage/statements.ts'
import { type EventChanges, systemLedgerId } from './chain.ts'
import { readEventRows } from './event-reads.ts'
import {
  accessRules,
  apiKeys,
  hasValidChanges,
  isManaged,
  keys,
  ledgerOfApiKey,
  rotations,
  sessions,
} from './last-events.ts'
import type { LedgerRows, SubjectIds } from './replay.ts'
import type { LedgerEntry, LedgerReads, StoredHead } from './verification.ts'

/** The ledgers of a database. */
export interface LedgerReader extends LedgerReads {
  findProject(ref: ProjectRef): Promise<ProjectRecord | undefined>
  close(): Promise<void>
}

/** The queries of the verification of ledgers, on any engine. Each is one statement. */
export function createLedgerReads(db: Db): LedgerReads {
  return {
    async ledgerIds({ after, limit }) {
      const rows = await db
        .selectFrom('ledger')
        .select('project_id')
        .where('project_id', '>', after)
        .orderBy('project_id')
        .limit(limit)
        .execute()
      return rows.map((row) => row.project_id)
    },
    async headlessLedgerIds() {
      const { rows } = await sql<{ id: string }>`
        select id from (select project_id as id from event union select project_id from jwt_key
          union select id from project union select ${ledgerOfApiKey} from api_key) as owner
        where not exists (select 1 from ledger where ledger.project_id = owner.id)
        order by id`.execute(db)
      return rows.map(({ id }) => id)
    },
    ledgerHead: (ledgerId) => readStoredHead(db, ledgerId),
    async countEvents() {
      // As a floating-point number: the sum of altered heads can exceed an integer.
      const sum = sql<number>`sum(cast(revision as double precision))`.as('events')
      return Number((await db.selectFrom('ledger').select(sum).executeTakeFirst())?.events)
    },
    async ledgerEntries(ledgerId, page) {
      return (await readEventRows(db, ledgerId, page)).map(entryFromRow)
    },
    ledgerRows: (ledgerId, idsOf) => readLedgerRows(db, ledgerId, idsOf),
  }
}

async function readLedgerRows(db: Db, ledgerId: string, idsOf: SubjectIds): Promise<LedgerRows> {
  const isSystem = ledgerId === systemLedgerId
  const publishedKids = db.selectFrom('published_kid').select(['kid', 'thumbprint'])
  const blocked = db.selectFrom('blocked_fingerprint').select('fingerprint')
  const exchanged = () => apiKeys.read(db, (all) => all.where(ledgerOfApiKey, '=', ledgerId))
  return {
    project: await projectOf(db).where('id', '=', ledgerId).execute(),
    key: await keys.readUnchecked(db, (all) => all.where('project_id', '=', ledgerId)),
    rotation: await rotations.readUnchecked(db, (all) => all.where('project_id', '=', ledgerId)),
    api_key: isSystem
      ? await apiKeys.readUnchecked(db, (all) => all.where(isManaged))
      : (await exchanged()).filter(({ contradicted }) => contradicted),
    session: isSystem ? await sessions.readUnchecked(db) : [],
    access_rule: isSystem ? await accessRules.readUnchecked(db) : [],
    published_kid: await inChunks(idsOf('published_kid'), (kids) =>
      publishedKids.where('project_id', '=', ledgerId).where('kid', 'in', kids).execute(),
    ),
    blocked_fingerprint: await inChunks(idsOf('blocked_fingerprint'), (some) =>
      blocked.where('fingerprint', 'in', some).execute(),
    ),
  }
}

function projectOf(db: Db) {
  const times = ['create_time as createTime', 'update_time as updateTime'] as const
  return db.selectFrom('project').select(['id', 'name', ...times])
}

async function readStoredHead(db: Db, ledgerId: string): Promise<StoredHead | undefined> {
  const { rows } = await sql<LedgerHead & { events: number | string; accepted: string | null }>`
    select ledger.revision, ledger.hash,
      (select count(*) from event where event.project_id = ledger.project_id) as events,
      (select changes from event
        where event.subject_id = ledger.project_id and event.project_id = ${systemLedgerId}
          and event.type = 'ledger.accepted'
        order by event.revision desc limit 1) as accepted
    from ledger where ledger.project_id = ${ledgerId}`.execute(db)
  const [row] = rows
  if (row === undefined) return undefined
  const { revision, hash, events, accepted } = row
  const head = { revision, hash, events: Number(events) }
  if (accepted === null || !hasValidChanges(accepted)) return head
  const changes: EventChanges = JSON.parse(accepted)
  const acceptedHead = { revision: Number(changes.revision?.to), hash: String(changes.hash?.to) }
  return { ...head, accepted: acceptedHead }
}

/** A row that was edited by hand may hold anything. Without valid changes it gets no content. */
function entryFromRow(row: Selectable<Tables['event']>): LedgerEntry {
  const { revision, hash } = row
  return hasValidChanges(row.changes)
    ? { revision, hash, content: eventFromRow(row) }
    : { revision, hash }
}
