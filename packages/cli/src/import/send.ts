import { type KeyImportReport, PubringError } from '@pubring/client'
import { hasCode, type Session } from '../connection/session.ts'
import { CommandError } from '../terminal/failures.ts'
import { type ImportRow, isSendable, type SendableRow } from './rows.ts'

interface SendOptions {
  dryRun: boolean
  /** Leaves out rejected keys; otherwise one of them keeps all others out. */
  skipRefused: boolean
  signal: AbortSignal
  /** Called with what is done with the keys, and the number of those that are done and of all. */
  progress(label: string, done: number, total: number): void
}

/** Rows that go to one project in one request. */
export interface Batch {
  project: string
  rows: readonly SendableRow[]
}

/** Keys in one request: few enough for usual time-outs and for the limit of a body, whatever they are. */
const maxBatchSize = 100

/** Some 10 seconds in all. If a response was lost, the keys that it registered are `present` then. */
const retries = 7

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
  for (let size = maxBatchSize; ; ) {
    try {
      return await sendBatches(session, rows, toBatches(rows, size), options)
    } catch (error) {
      size = smallerSize(size, error)
    }
  }
}

/** The size that a server takes whose projects may have fewer keys. Throws any other error. */
function smallerSize(size: number, error: unknown): number {
  const { problem: { errors, limit } = {} } = error instanceof PubringError ? error : {}
  if (errors?.[0]?.code === 'too_many' && limit !== undefined && limit < size) return limit
  throw error
}

/** Leaves out rows that have a kid, whose keys an earlier request registered. */
function toBatches(rows: readonly ImportRow[], size: number): Batch[] {
  const remaining = rows.filter(isSendable).filter(({ kid }) => kid === undefined)
  const byProject = Map.groupBy(remaining, ({ project }) => project)
  return [...byProject].flatMap(([project, all]) => {
    const starts = [...all.keys()].filter((index) => index % size === 0)
    return starts.map((start) => ({ project, rows: all.slice(start, start + size) }))
  })
}

async function sendBatches(
  session: Session,
  rows: readonly ImportRow[],
  batches: readonly Batch[],
  options: SendOptions,
): Promise<CommandError | undefined> {
  const { dryRun, skipRefused } = options
  const hasRefused = () => rows.some(({ outcome }) => outcome === 'refused')
  const sent = batches.flatMap((batch) => batch.rows)
  const send = withProgress(session, options, sent.length)
  if (skipRefused) {
    for (const batch of batches) await sendAccepted(send, batch, dryRun)
    return undefined
  }
  if (dryRun || batches.length > 1 || hasRefused()) {
    const reports: ProjectReport[] = []
    for (const batch of batches) {
      const report = await send(batch, true)
      if (report !== undefined) reports.push({ project: batch.project, report })
    }
    const error = keyLimitError(rows, batches) ?? overflowError(reports)
    const isAccepted = error === undefined && !hasRefused()
    if (dryRun && isAccepted) return undefined
    resetOutcomes(sent)
    if (!isAccepted) return error
  }
  for (const batch of batches) {
    // After the dry run, only a concurrent change can cause a rejection.
    if ((await send(batch, false)) === undefined) break
  }
  return keyLimitError(rows, batches)
}

/** Discards what only a dry run has found. */
export function resetOutcomes(rows: readonly ImportRow[]): void {
  for (const row of rows) {
    if (row.outcome === 'refused') continue
    row.outcome = 'not_sent'
    delete row.kid
  }
}

type Send = (batch: Batch, dryRun: boolean) => Promise<KeyImportReport | undefined>

function withProgress(session: Session, { signal, progress }: SendOptions, total: number): Send {
  let done = 0
  let phase = ''
  return async (batch, dryRun) => {
    const label = dryRun ? 'Checking keys ' : 'Importing keys'
    if (label !== phase) done = 0
    phase = label
    progress(label, done, total)
    try {
      return await sendBatch(session, batch, { dryRun, signal })
    } finally {
      done = Math.min(total, done + batch.rows.length)
      progress(label, done, total)
    }
  }
}

/** Sends a batch and sets the outcomes of its rows; undefined if the server rejects some. */
export async function sendBatch(
  { client }: Session,
  { project, rows }: Batch,
  { dryRun, signal }: { dryRun: boolean; signal?: AbortSignal },
): Promise<KeyImportReport | undefined> {
  const body = { keys: rows.map(({ item }) => item), dryRun }
  try {
    const report = await client.keys.import(project, body, { retries, ...(signal && { signal }) })
    for (const [index, { outcome, kid }] of report.items.entries()) {
      const row = rows[index]
      if (row === undefined) continue
      row.outcome = outcome
      if (!dryRun || outcome === 'present') row.kid = kid
    }
    return report
  } catch (error) {
    setRefused(rows, error)
    return undefined
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
function keyLimitError(
  rows: readonly ImportRow[],
  batches: readonly Batch[],
): CommandError | undefined {
  const isFull = ({ errors }: ImportRow) => errors.some(({ code }) => code === 'key_limit_reached')
  const batch = batches.find((each) => each.rows.some(isFull))
  const isOther = (row: ImportRow) => row.errors.length > 0 && !isFull(row)
  if (batch === undefined || rows.some(isOther)) return undefined
  const { project } = batch
  const room = batch.rows.filter((row) => !isFull(row)).length
  const count = rows.filter((row) => row.project === project && row.outcome !== 'present').length
  for (const row of rows.filter(isFull)) Object.assign(row, { errors: [], outcome: 'not_sent' })
  return noRoom(project, room, count)
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
