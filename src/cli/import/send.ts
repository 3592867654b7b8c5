import { setTimeout as delay } from 'node:timers/promises'
import { type KeyImportReport, PubringError } from '../../../client/src/index.ts'
import type { Session } from '../connection/session.ts'
import { type Batch, type BatchLimits, batchesOf, usualLimits } from './batches.ts'
import type { ImportRow } from './rows.ts'

/** How far to go. */
export interface RunOptions {
  dryRun: boolean
  /** Refused keys are left out; otherwise one of them keeps all others out. */
  skipRefused: boolean
  signal: AbortSignal
  /** So many requests were answered, of so many. */
  progress(done: number, total: number): void
}

/** Why none of the keys was imported, although none of them is refused by itself. */
export interface Overflow {
  code: string
  detail: string
}

/** A server with narrower limits than the usual ones. */
class NarrowerLimits extends Error {
  readonly limits: Partial<BatchLimits>
  constructor(limits: Partial<BatchLimits>) {
    super('narrower limits')
    this.limits = limits
  }
}

/**
 * Imports the rows and notes in each what became of it. All or none: where it takes more than one
 * request, a dry run of all of them comes first. Answers what does not fit as a whole.
 */
export async function runImport(
  session: Session,
  rows: readonly ImportRow[],
  options: RunOptions,
): Promise<Overflow | undefined> {
  let limits = usualLimits
  for (;;) {
    try {
      return await runBatches(session, rows, batchesOf(rows, limits), options)
    } catch (error) {
      if (!(error instanceof NarrowerLimits)) throw error
      limits = { ...limits, ...error.limits }
    }
  }
}

async function runBatches(
  session: Session,
  rows: readonly ImportRow[],
  batches: readonly Batch[],
  options: RunOptions,
): Promise<Overflow | undefined> {
  const { dryRun, skipRefused } = options
  const run = requests(session, options)
  if (skipRefused) {
    run.expect(batches.length)
    for (const batch of batches) await run.sendAccepted(batch, dryRun)
    return undefined
  }
  const isRefused = () => rows.some(({ outcome }) => outcome === 'refused')
  const tried = dryRun || batches.length > 1 || isRefused()
  run.expect(tried && !dryRun ? 2 * batches.length : batches.length)
  const reports = new Map<Batch, KeyImportReport>()
  for (const batch of tried ? batches : []) {
    const report = await run.send(batch, true)
    if (report !== undefined) reports.set(batch, report)
  }
  const overflow = overflowOf(reports)
  if (dryRun || overflow !== undefined || isRefused()) {
    if (!dryRun || overflow !== undefined || isRefused()) unsend(rows)
    return overflow
  }
  unsend(rows)
  for (const batch of batches) {
    // Only what somebody else did since the dry run can be in its way.
    if ((await run.send(batch, false)) === undefined) break
  }
  return undefined
}

/** What only a dry run has said of them. */
function unsend(rows: readonly ImportRow[]): void {
  for (const row of rows) {
    if (row.outcome !== 'created' && row.outcome !== 'present') continue
    row.outcome = 'not_sent'
    delete row.kid
  }
}

function requests({ client }: Session, { signal, progress }: RunOptions) {
  let done = 0
  let total = 0

  async function send(batch: Batch, dryRun: boolean): Promise<KeyImportReport | undefined> {
    const keys = batch.rows.map(({ item }) => item)
    try {
      const report = await patiently(signal, () =>
        client.keys.import(batch.project, { keys, dryRun }, { signal }),
      )
      report.items.forEach(({ outcome, kid }, index) => {
        const row = batch.rows[index]
        if (row === undefined) return
        row.outcome = outcome
        if (!dryRun || outcome === 'present') row.kid = kid
      })
      return report
    } catch (error) {
      refuse(batch, error)
      return undefined
    } finally {
      done += 1
      progress(done, Math.max(done, total))
    }
  }
  return {
    expect(count: number): void {
      total = count
      progress(0, total)
    },
    send,
    /** Sends those of the batch that are not refused. */
    async sendAccepted(batch: Batch, dryRun: boolean): Promise<void> {
      let left: Batch = batch
      while (left.rows.length > 0 && (await send(left, dryRun)) === undefined) {
        left = { ...left, rows: left.rows.filter(({ outcome }) => outcome !== 'refused') }
      }
    },
  }
}

/** Pauses, in milliseconds, before the repetitions of a request whose answer did not come. */
const pauses = [1_000, 4_000, 15_000]

/** An import can be repeated: what the lost request did is `present` then. */
async function patiently<Result>(
  signal: AbortSignal,
  request: () => Promise<Result>,
): Promise<Result> {
  for (const pause of pauses) {
    try {
      return await request()
    } catch (error) {
      const isLost =
        error instanceof PubringError && ['unreachable', 'timeout'].includes(error.code)
      if (!isLost || signal.aborted) throw error
      await delay(pause, undefined, { signal })
    }
  }
  return request()
}

/** Notes in the rows what the server has against them; throws every other error. */
function refuse({ rows }: Batch, error: unknown): void {
  if (!(error instanceof PubringError)) throw error
  const { code, problem } = error
  const [first] = problem?.errors ?? []
  const limit = problem?.limit
  if (limit !== undefined && first?.code === 'too_many') throw new NarrowerLimits({ keys: limit })
  if (limit !== undefined && code === 'body_too_large') {
    throw new NarrowerLimits({ bytes: Math.floor(limit * 0.9) })
  }
  if (code !== 'import_refused') throw error
  for (const { pointer = '', code: cause, detail } of problem?.errors ?? []) {
    const row = rows[Number(pointer.split('/')[2])]
    if (row === undefined) throw error
    row.outcome = 'refused'
    row.errors.push({ code: cause, detail })
  }
}

/** Each request may fit where all of them do not. */
function overflowOf(reports: ReadonlyMap<Batch, KeyImportReport>): Overflow | undefined {
  const groups = Map.groupBy(reports, ([{ project }]) => project)
  for (const [project, group] of groups) {
    const rooms = group.flatMap(([, { room }]) => room ?? [])
    const [first] = rooms
    if (first === undefined) continue
    const keys = first.keys.before + sum(rooms.map((room) => room.keys.after - room.keys.before))
    if (keys > first.keys.limit) {
      const detail = `Project ${project} would have ${keys} keys, and may have ${first.keys.limit}.`
      return { code: 'key_limit_reached', detail }
    }
    const { before, limit } = first.jwksBytes
    const bytes = before + sum(rooms.map(({ jwksBytes }) => jwksBytes.after - jwksBytes.before))
    if (bytes > limit) {
      const detail = `The key set of project ${project} would have ${bytes} bytes; verifiers read at most ${limit}.`
      return { code: 'jwks_too_large', detail }
    }
  }
  return undefined
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
