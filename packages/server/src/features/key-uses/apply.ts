import { PubringError } from '../../errors.ts'
import type { Outcome, Transaction } from '../../kernel/changes.ts'
import { projectNamePattern } from '../../kernel/contract.ts'
import { notFound } from '../../kernel/faults.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import { lockProjectLedger, noteEventless } from '../../kernel/ledger/locked-ledger.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { exists, replacement } from '../../kernel/storage/statements.ts'
import type { KeyRecord } from '../keys/stored.ts'
import { requireProject } from '../projects/apply.ts'
import type { KeyReport, ReporterRemoval } from './changes.ts'
import { readReporters } from './reads.ts'
import {
  keyReporterTable,
  keyUseTable,
  lastOf,
  type Reporter,
  silentFrom,
  type Use,
} from './stored.ts'

/** Reporters of a project, and those of one owner. */
const maxReporters = 1_000
const maxReportersOfOwner = 20

const minIntervalMs = 60_000

const putReporters = replacement(keyReporterTable)
const putUses = replacement(keyUseTable)

const done: Outcome<undefined> = { result: undefined, changed: true }

/**
 * Stores what the report says of keys of the project. The lock of its ledger keeps them and the project from
 * being deleted meanwhile. A process makes one change at a time outside ledgers, so changes of the project
 * wait for one report of each replica at most, however many verifiers report at once.
 */
export async function reportKeyUses(
  tx: Transaction,
  report: KeyReport,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const { projectId, origin, owner, reporter, interval } = report
  const ledger = await lockProjectLedger(tx, projectId, origin)
  await requireProject(db, projectId)
  const [before] = await readReporters(db, { projectId, reporter })
  if (before === undefined) await requireRoom(db, report)
  else requireDue(before, report)
  const report_time = Date.parse(origin.time)
  const row = {
    project_id: projectId,
    reporter,
    owner,
    report_interval: interval,
    since: before && silentFrom(before) > report_time ? before.since : origin.time,
    report_time,
    request_id: origin.requestId,
  }
  await putReporters(db, [row])
  await storeUses(db, report)
  await noteEventless(ledger, report_time)
  return done
}

/** Writes what the report says that is later than what the reporter has said of a key before. */
async function storeUses(db: Db, { projectId, reporter, uses }: KeyReport): Promise<void> {
  const known = await db
    .selectFrom('jwt_key')
    .leftJoin('key_use', (join) =>
      join
        .onRef('key_use.project_id', '=', 'jwt_key.project_id')
        .onRef('key_use.key_id', '=', 'jwt_key.id')
        .on('reporter', '=', reporter),
    )
    .select(['jwt_key.id', 'last_time', 'last_exp'])
    .where('jwt_key.project_id', '=', projectId)
    .execute()
  const byId = new Map(uses.map((use) => [use.id, use]))
  const rows = known.flatMap(({ id, last_time, last_exp }) => {
    const before: Use = { time: last_time ?? 0, exp: last_exp ?? 0 }
    const { time, exp } = lastOf([before, byId.get(id) ?? before])
    const isNews = time > before.time || (time > 0 && exp > before.exp)
    const key = { project_id: projectId, reporter, key_id: id }
    return isNews ? [{ ...key, last_time: time, last_exp: exp }] : []
  })
  await putUses(db, rows)
}

/** A repeated attempt of the same report is accepted. */
function requireDue(before: Reporter, { reporter, owner, origin }: KeyReport): void {
  if (before.owner !== owner) {
    throw new PubringError(
      'reporter_taken',
      `Another API key or workload reports as ${reporter}. Choose another name; if the verifier has a new API key, a writer lets it go on with DELETE …/key-uses/${reporter}.`,
    )
  }
  const waitMs = before.report_time + minIntervalMs - Date.parse(origin.time)
  if (waitMs <= 0 || before.request_id === origin.requestId) return
  const retryAfter = Math.min(Math.ceil(waitMs / 1_000), minIntervalMs / 1_000)
  throw new PubringError(
    'rate_limited',
    `${reporter} has reported less than a minute ago. Report again in ${retryAfter} seconds; an hour between two reports is enough.`,
    { retryAfter },
  )
}

async function requireRoom(db: Db, { projectId, owner }: KeyReport): Promise<void> {
  const all = db.selectFrom('key_reporter').select('owner').where('project_id', '=', projectId)
  const owners = (await all.execute()).map((row) => row.owner)
  const isOwn = owners.filter((each) => each === owner).length >= maxReportersOfOwner
  if (!isOwn && owners.length < maxReporters) return
  const limit = isOwn ? maxReportersOfOwner : maxReporters
  throw new PubringError(
    'reporter_limit_reached',
    `${isOwn ? 'You have' : 'The project has'} ${limit} reporters. Let several verifiers report as one, or have a writer remove those that are gone with DELETE …/key-uses/{reporter}.`,
    { limit },
  )
}

/** Removes the reporter, with what it has reported. */
export async function removeReporter(
  tx: Transaction,
  { projectId, origin, reporter }: ReporterRemoval,
): Promise<Outcome<undefined>> {
  const ledger = await lockProjectLedger(tx, projectId, origin)
  const rowsOf = (table: 'key_reporter' | 'key_use') =>
    tx.db.deleteFrom(table).where('project_id', '=', projectId).where('reporter', '=', reporter)
  const removed = rowsOf('key_reporter').returning('reporter')
  const isName = projectNamePattern.test(reporter)
  if (!isName || !(await exists(removed))) throw notFound('reporter_not_found')
  await rowsOf('key_use').execute()
  await noteEventless(ledger, Date.parse(origin.time))
  return done
}

/** A key that is imported later with the same id begins without uses. */
export async function forgetKey(
  { db }: Transaction,
  { projectId, id }: KeyRecord,
  step: 'disable' | 'delete',
): Promise<NewEvent[]> {
  if (step === 'delete') {
    const uses = db.deleteFrom('key_use').where('project_id', '=', projectId)
    await uses.where('key_id', '=', id).execute()
  }
  return []
}

export async function forgetProject({ db }: Transaction, projectId: string): Promise<NewEvent[]> {
  for (const table of ['key_use', 'key_reporter'] as const) {
    await db.deleteFrom(table).where('project_id', '=', projectId).execute()
  }
  return []
}
