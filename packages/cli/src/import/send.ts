import { hasCode, type Session } from '../connection/session.ts'
import { type ImportRow, isSendable, type SendableRow } from './rows.ts'

interface SendOptions {
  dryRun?: boolean
  /** Leaves out rejected keys; otherwise one of them keeps all others out. */
  skipRefused?: boolean
}

/** Rows that go to one project in one request. */
interface Batch {
  project: string
  rows: readonly SendableRow[]
}

/** Keys that the server takes in one request. */
const maxBatchSize = 1_000

/**
 * Imports the rows and sets the outcome of each. All or none, unless rejected keys are skipped: a dry run
 * comes first if several requests are needed.
 */
export async function sendRows(
  session: Session,
  rows: readonly ImportRow[],
  { dryRun = false, skipRefused = false }: SendOptions,
): Promise<void> {
  const batches = toBatches(rows)
  if (skipRefused) {
    for (const batch of batches) await sendAccepted(session, batch, dryRun)
    return
  }
  const hasRefused = () => rows.some(({ outcome }) => outcome === 'refused')
  if (dryRun || batches.length > 1 || hasRefused()) {
    for (const batch of batches) await sendBatch(session, batch, true)
    if (dryRun && !hasRefused()) return
    resetOutcomes(batches.flatMap((batch) => batch.rows))
    if (hasRefused()) return
  }
  for (const batch of batches) {
    // After the dry run, only a concurrent change can cause a rejection.
    if (!(await sendBatch(session, batch, false))) return
  }
}

function toBatches(rows: readonly ImportRow[]): Batch[] {
  const byProject = Map.groupBy(rows.filter(isSendable), ({ project }) => project)
  return [...byProject].flatMap(([project, all]) => {
    const starts = [...all.keys()].filter((index) => index % maxBatchSize === 0)
    return starts.map((start) => ({ project, rows: all.slice(start, start + maxBatchSize) }))
  })
}

/** Discards what only a dry run has found. */
function resetOutcomes(rows: readonly ImportRow[]): void {
  for (const row of rows) {
    if (row.outcome === 'refused') continue
    row.outcome = 'not_sent'
    delete row.kid
  }
}

/** Sends a batch and sets the outcomes of its rows; false if the server rejects some. */
export async function sendBatch(
  { client }: Session,
  { project, rows }: Batch,
  dryRun: boolean,
): Promise<boolean> {
  try {
    const keys = rows.map(({ item }) => item)
    const report = await client.keys.import(project, { keys, dryRun })
    for (const [index, { outcome, kid }] of report.items.entries()) {
      const row = rows[index]
      if (row === undefined) continue
      row.outcome = outcome
      if (!dryRun || outcome === 'present') row.kid = kid
    }
    return true
  } catch (error) {
    setRefused(rows, error)
    return false
  }
}

/** Repeats the batch without its rejected keys until the server accepts it. */
async function sendAccepted(session: Session, batch: Batch, dryRun: boolean): Promise<void> {
  let { rows } = batch
  while (rows.length > 0 && !(await sendBatch(session, { ...batch, rows }, dryRun))) {
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
