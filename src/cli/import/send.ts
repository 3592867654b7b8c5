import { type KeyImportReport, PubringError } from '../../../client/src/index.ts'
import { hasCode, type Session } from '../connection/session.ts'
import type { CommandError } from '../terminal/failures.ts'
import { keyLimitError, overflowError, type ProjectReport } from './room.ts'
import { type ImportRow, isSendable, type SendableRow } from './rows.ts'

export interface SendOptions {
  dryRun?: boolean
  /** Leaves out rejected keys; otherwise one of them keeps all others out. */
  skipRefused?: boolean
  /** Registers all keys in one transaction. Throws if the server takes fewer in one request. */
  inOneRequest?: boolean
  signal?: AbortSignal
  /** Called with what is done with the keys, and the number of those that are done and of all. */
  progress?(label: string, done: number, total: number): void
}

/** Rows that go to one project in one request. */
interface Batch {
  project: string
  rows: SendableRow[]
}

interface BatchLimits {
  keys: number
  bytes: number
  /** Keeps the examination of one request well below usual time-outs. */
  costMs: number
}

/** Some 10 seconds in all. If a response was lost, the keys that it registered are `present` then. */
const retries = 7

/** The limits of a server, with headroom for the rest of the body. */
const defaultLimits: BatchLimits = { keys: 1_000, bytes: 4_000_000, costMs: 4_000 }
const unlimited: BatchLimits = { keys: Infinity, bytes: Infinity, costMs: Infinity }

/**
 * Imports the rows and sets the outcome of each. All or none, unless rejected keys are skipped: a
 * dry run comes first if several requests are needed. Returns the error for keys that do not fit
 * into their project together.
 */
export async function sendRows(
  session: Session,
  rows: readonly ImportRow[],
  options: SendOptions,
): Promise<CommandError | undefined> {
  if (options.inOneRequest) {
    return sendBatches(session, rows, toBatches(rows, unlimited), options)
  }
  for (let limits = defaultLimits; ; ) {
    try {
      const overflow = await sendBatches(session, rows, toBatches(rows, limits), options)
      return overflow ?? (options.skipRefused ? undefined : await keyLimitError(session, rows))
    } catch (error) {
      limits = narrowerLimits(limits, error)
    }
  }
}

/** The limits of a server whose projects may have fewer keys. Throws any other error. */
function narrowerLimits(limits: BatchLimits, error: unknown): BatchLimits {
  const { problem: { errors, limit } = {} } = error instanceof PubringError ? error : {}
  const isNarrower = errors?.[0]?.code === 'too_many' && limit !== undefined && limit < limits.keys
  if (isNarrower) return { ...limits, keys: limit }
  throw error
}

/** The rows that can be sent, in requests that are neither too large nor too slow. */
function toBatches(rows: readonly ImportRow[], limits: BatchLimits): Batch[] {
  const batches: Batch[] = []
  let bytes = 0
  let costMs = 0
  const byProject = Map.groupBy(rows.filter(isSendable), ({ project }) => project)
  for (const row of [...byProject.values()].flat()) {
    const rowBytes = Buffer.byteLength(JSON.stringify(row.item)) + 1
    bytes += rowBytes
    costMs += row.costMs
    const last = batches.at(-1)
    const fits =
      last?.project === row.project &&
      last.rows.length < limits.keys &&
      bytes <= limits.bytes &&
      costMs <= limits.costMs
    if (last !== undefined && fits) last.rows.push(row)
    else {
      batches.push({ project: row.project, rows: [row] })
      bytes = rowBytes
      costMs = row.costMs
    }
  }
  return batches
}

async function sendBatches(
  session: Session,
  rows: readonly ImportRow[],
  batches: readonly Batch[],
  options: SendOptions,
): Promise<CommandError | undefined> {
  const { dryRun = false, skipRefused = false } = options
  const hasRefused = () => rows.some(({ outcome }) => outcome === 'refused')
  const needsDryRun = !skipRefused && (dryRun || batches.length > 1 || hasRefused())
  const sent = batches.flatMap((batch) => batch.rows)
  const send = createSender(session, options, sent.length)
  if (skipRefused) {
    for (const batch of batches) await sendAccepted(send, batch, dryRun)
    return undefined
  }
  if (needsDryRun) {
    const overflow = await dryRunAll(send, batches)
    const isAccepted = overflow === undefined && !hasRefused()
    if (dryRun && isAccepted) return undefined
    resetOutcomes(sent)
    if (!isAccepted) return overflow
  }
  for (const batch of batches) {
    // After the dry run, only a concurrent change can cause a rejection.
    if ((await send(batch, false)) === undefined) break
  }
  return undefined
}

async function dryRunAll(send: Send, batches: readonly Batch[]): Promise<CommandError | undefined> {
  const reports: ProjectReport[] = []
  for (const batch of batches) {
    const report = await send(batch, true)
    if (report !== undefined) reports.push({ project: batch.project, report })
  }
  return overflowError(reports)
}

/** Discards what only a dry run has found. */
function resetOutcomes(rows: readonly ImportRow[]): void {
  for (const row of rows) {
    if (row.outcome === 'refused') continue
    row.outcome = 'not_sent'
    delete row.kid
  }
}

/** Sends a batch and sets the outcomes of its rows; undefined if the server rejects some. */
type Send = (batch: Batch, dryRun: boolean) => Promise<KeyImportReport | undefined>

function createSender(
  { client }: Session,
  { signal = AbortSignal.any([]), progress = () => {} }: SendOptions,
  total: number,
): Send {
  let done = 0
  let phase = ''
  return async ({ project, rows }, dryRun) => {
    const label = dryRun ? 'Checking keys ' : 'Importing keys'
    if (label !== phase) done = 0
    phase = label
    progress(label, done, total)
    const keys = rows.map(({ item }) => item)
    try {
      const report = await client.keys.import(project, { keys, dryRun }, { signal, retries })
      for (const [index, { outcome, kid }] of report.items.entries()) {
        const row = rows[index]
        if (row === undefined) continue
        row.outcome = outcome
        if (!dryRun || outcome === 'present') row.kid = kid
      }
      return report
    } catch (error) {
      if (!dryRun && !hasCode(error, 'import_refused')) {
        for (const row of rows) row.isUnanswered = true
      }
      setRefused(rows, error)
      return undefined
    } finally {
      done = Math.min(total, done + rows.length)
      progress(label, done, total)
    }
  }
}

/** Repeats the batch without its rejected keys until the server accepts it. */
async function sendAccepted(send: Send, batch: Batch, dryRun: boolean): Promise<void> {
  let { rows } = batch
  while (rows.length > 0 && (await send({ ...batch, rows }, dryRun)) === undefined) {
    rows = rows.filter(({ outcome }) => outcome !== 'refused')
  }
}

/** Sets the rejections in their rows. Throws any other error. */
function setRefused(rows: readonly SendableRow[], error: unknown): void {
  if (!hasCode(error, 'import_refused')) throw error
  const placeAt = (index: string) => rows[Number(index)]?.place ?? `/keys/${index}`
  for (const { pointer = '', code, detail } of error.problem?.errors ?? []) {
    const row = rows[Number(pointer.split('/')[2])]
    if (row === undefined) throw error
    row.outcome = 'refused'
    // The server counts the keys of one request.
    const text = detail.replace(/\/keys\/(\d+)/g, (_pointer, index) => placeAt(index))
    row.errors.push({ code, detail: text })
  }
}
