import { type KeyImportReport, PubringError } from '../../../client/src/index.ts'
import { hasCode, type Session } from '../connection/session.ts'
import { CommandError } from '../terminal/failures.ts'
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

/** The error for a project that is too full for its rows, if nothing else is wrong with any row. */
async function keyLimitError(
  { client }: Session,
  rows: readonly ImportRow[],
): Promise<CommandError | undefined> {
  const isFull = ({ errors }: ImportRow) => errors.some(({ code }) => code === 'key_limit_reached')
  const full = rows.find(isFull)
  const other = rows.find((row) => row.errors.length === 0 && row.project === full?.project)
  if (full?.item === undefined || rows.some((row) => row.errors.length > 0 && !isFull(row))) return
  const { project } = full
  const count = rows.filter((row) => row.project === project && row.outcome !== 'present').length
  for (const row of rows.filter(isFull)) Object.assign(row, { errors: [], outcome: 'not_sent' })
  if (other?.item === undefined) return noRoom(project, 0, count)
  const { room } = await client.keys.import(project, { keys: [other.item], dryRun: true })
  const { before, limit } = room.keys
  return noRoom(project, limit - before, count)
}

function noRoom(project: string, room: number, count: number): CommandError {
  const [free, all] = [room, count].map((each) => each.toLocaleString('en-US'))
  const detail = `Project ${project} has room for ${free} of ${all} keys; raise PUBRING_MAX_KEYS_PER_PROJECT.`
  return nothingImported('key_limit_reached', detail)
}

/** The report of the server on one request of a dry run. */
interface ProjectReport {
  project: string
  report: KeyImportReport
}

/** Requests that fit alone may not fit together. */
function overflowError(reports: readonly ProjectReport[]): CommandError | undefined {
  for (const [project, group] of Map.groupBy(reports, (each) => each.project)) {
    const keys = totalRoom(group, 'keys')
    if (keys.after > keys.limit) {
      return noRoom(project, keys.limit - keys.before, keys.after - keys.before)
    }
    const { after, limit } = totalRoom(group, 'jwksBytes')
    if (after > limit) {
      const detail = `The key set of project ${project} would have ${after} bytes, and at most ${limit} are allowed, because many verifiers read no more: import some keys inactive, or raise PUBRING_MAX_JWKS_BYTES.`
      return nothingImported('jwks_too_large', detail)
    }
  }
  return undefined
}

/** How far all requests together fill a project. */
function totalRoom(reports: readonly ProjectReport[], kind: keyof KeyImportReport['room']) {
  const rooms = reports.map(({ report }) => report.room[kind])
  const { before = 0, limit = 0 } = rooms[0] ?? {}
  const after = rooms.reduce((sum, room) => sum + room.after - room.before, before)
  return { before, after, limit }
}

function nothingImported(code: string, detail: string): CommandError {
  return new CommandError('conflict', `${detail} Nothing was imported.`, { code })
}
