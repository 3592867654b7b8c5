import { PubringError } from '../../errors.ts'
import type { Outcome, Transaction } from '../../kernel/changes.ts'
import { notFound } from '../../kernel/faults.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import {
  type LockedLedger,
  lockProjectLedger,
  restoreRevision,
} from '../../kernel/ledger/locked-ledger.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { chunked } from '../../kernel/storage/statements.ts'
import { earliest, isoTime, latest } from '../../kernel/values/times.ts'
import { findByKid } from '../keys/kids.ts'
import type { KeyRecord } from '../keys/stored.ts'
import { requireProject } from '../projects/apply.ts'
import type { KeyReport, ReporterRemoval } from './changes.ts'
import type { KeyUsesReported } from './contract.ts'
import { readReporters } from './reads.ts'
import { type KeyUseRow, type ReporterRow, silentFrom } from './stored.ts'

/** Reporters of a project, and those of one owner. */
const maxReporters = 1_000
const maxReportersOfOwner = 20

/** How long the `exp` of a token counts after its use: an odd one must not keep a key in use for good. */
const maxLifetimeMs = 365 * 86_400_000

const minIntervalMs = 60_000

/**
 * Stores what the report says of keys of the project. The lock of its ledger keeps them and the project from
 * being deleted meanwhile. A process makes one change at a time outside ledgers, so changes of the project
 * wait for one report of each replica at most, however many verifiers report at once.
 */
export async function reportKeyUses(
  tx: Transaction,
  report: KeyReport,
): Promise<Outcome<KeyUsesReported>> {
  const { db } = tx
  const { projectId, origin, owner, reporter, interval, uses } = report
  const { time } = origin
  const ledger = await lockProjectLedger(tx, projectId, origin)
  await requireProject(db, projectId)
  const [before] = await readReporters(db, { projectId, reporter })
  if (before === undefined) await requireRoom(db, report)
  else requireDue(before, report)
  const since = before && silentFrom(before) > Date.parse(time) ? before.since : time
  const times = { report_interval: interval, since, report_time: time }
  const row = { owner, ...times, request_id: origin.requestId }
  await db
    .insertInto('key_reporter')
    .values({ project_id: projectId, reporter, ...row })
    .onConflict((conflict) => conflict.columns(['project_id', 'reporter']).doUpdateSet(row))
    .execute()
  const kids = await readKids(db, projectId)
  const found = uses.map((use) => ({ use, id: findByKid(kids, use.kid)?.id }))
  const rows = found.flatMap(({ id, use: { lastTime, lastExp } }) => {
    if (id === undefined) return []
    const last_time = earliest(lastTime, time)
    const lastEnd = isoTime(Date.parse(last_time) + maxLifetimeMs)
    const last_exp = lastExp === undefined ? null : earliest(lastExp, lastEnd)
    return { project_id: projectId, reporter, key_id: id, last_time, last_exp }
  })
  await storeUses(db, rows)
  await endReport(ledger)
  const unknown = found.flatMap(({ id }, index) => (id === undefined ? [index] : []))
  return { result: { unknown }, changed: true }
}

/** A repeated attempt of the same report is accepted. */
function requireDue(before: ReporterRow, { reporter, owner, origin }: KeyReport): void {
  if (before.owner !== owner) {
    throw new PubringError(
      'reporter_taken',
      `Another API key or workload reports as ${reporter}. Choose another name; if the verifier has a new API key, a writer lets it go on with DELETE …/key-uses/${reporter}.`,
    )
  }
  const waitMs = Date.parse(before.report_time) + minIntervalMs - Date.parse(origin.time)
  if (waitMs <= 0 || before.request_id === origin.requestId) return
  const retryAfter = Math.min(Math.ceil(waitMs / 1_000), minIntervalMs / 1_000)
  throw new PubringError(
    'rate_limited',
    `${reporter} has reported less than a minute ago. Report again in ${retryAfter} seconds; an hour between two reports is enough.`,
    { retryAfter },
  )
}

async function requireRoom(db: Db, { projectId, owner }: KeyReport): Promise<void> {
  const all = await readReporters(db, { projectId })
  const refuse = (limit: number, detail: string) =>
    new PubringError('reporter_limit_reached', detail, { limit })
  if (all.filter((each) => each.owner === owner).length >= maxReportersOfOwner) {
    throw refuse(
      maxReportersOfOwner,
      `You report as ${maxReportersOfOwner} reporters of the project already. Let several verifiers report as one, or give them API keys of their own.`,
    )
  }
  if (all.length < maxReporters) return
  throw refuse(
    maxReporters,
    `The project has ${maxReporters} reporters. Remove those that are gone with DELETE …/key-uses/{reporter}, or let several verifiers report as one.`,
  )
}

async function readKids(db: Db, projectId: string) {
  const rows = await db
    .selectFrom('jwt_key')
    .select(['id', 'published_kid'])
    .where('project_id', '=', projectId)
    .execute()
  return rows.map(({ id, published_kid }) => ({ id, publishedKid: published_kid ?? id }))
}

/** Writes the rows of a reporter that tell more than those before; of several about one key, what each tells. */
async function storeUses(db: Db, rows: readonly KeyUseRow[]): Promise<void> {
  const [first] = rows
  if (first === undefined) return
  const known = await db
    .selectFrom('key_use')
    .selectAll()
    .where('project_id', '=', first.project_id)
    .where('reporter', '=', first.reporter)
    .execute()
  const all = new Map(known.map((row) => [row.key_id, row]))
  for (const row of rows) {
    const before = all.get(row.key_id) ?? row
    const last_time = latest(row.last_time, before.last_time)
    const last_exp = latest(row.last_exp ?? '', before.last_exp ?? '') || null
    const isNews = last_time !== before.last_time || last_exp !== before.last_exp
    if (isNews || before === row) all.set(row.key_id, { ...row, last_time, last_exp })
  }
  const changed = [...all.values()].filter((row) => !known.includes(row))
  for (const chunk of chunked(changed)) {
    await db
      .insertInto('key_use')
      .values(chunk)
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'reporter', 'key_id']).doUpdateSet((set) => ({
          last_time: set.ref('excluded.last_time'),
          last_exp: set.ref('excluded.last_exp'),
        })),
      )
      .execute()
  }
}

/** What was read of the uses is outdated; the ledger stays as it is. */
async function endReport(ledger: LockedLedger): Promise<void> {
  const { db, ledgerId, origin } = ledger
  const row = { version: origin.requestId }
  await db
    .insertInto('key_use_version')
    .values({ project_id: ledgerId, ...row })
    .onConflict((conflict) => conflict.column('project_id').doUpdateSet(row))
    .execute()
  await restoreRevision(ledger)
}

/** Removes the reporter, with what it has reported. */
export async function removeReporter(
  tx: Transaction,
  { projectId, origin, reporter }: ReporterRemoval,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const ledger = await lockProjectLedger(tx, projectId, origin)
  const found = await readReporters(db, { projectId, reporter })
  if (found.length === 0) throw notFound('reporter_not_found')
  for (const table of ['key_use', 'key_reporter'] as const) {
    const rows = db.deleteFrom(table).where('project_id', '=', projectId)
    await rows.where('reporter', '=', reporter).execute()
  }
  await endReport(ledger)
  return { result: undefined, changed: true }
}

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
  for (const table of ['key_use', 'key_reporter', 'key_use_version'] as const) {
    await db.deleteFrom(table).where('project_id', '=', projectId).execute()
  }
  return []
}
