import type { KeyImportItem } from '../../../client/src/index.ts'
import type { ImportRow } from './rows.ts'

/** Rows that go to one project in one request. */
export interface Batch {
  project: string
  rows: (ImportRow & { item: KeyImportItem })[]
}

/** What one request may bring. */
export interface BatchLimits {
  keys: number
  bytes: number
}

/** The defaults of a server, with room for what stands around the keys. */
export const usualLimits: BatchLimits = { keys: 1_000, bytes: 4_000_000 }

/** Milliseconds of examination in one request, so that it is answered in time. */
const mostCost = 4_000

/** The rows that can be sent, in requests that are neither too large nor too slow. */
export function batchesOf(rows: readonly ImportRow[], limits: BatchLimits): Batch[] {
  const batches: Batch[] = []
  let bytes = 0
  let cost = 0
  for (const row of rows) {
    if (!isSendable(row)) continue
    const size = Buffer.byteLength(JSON.stringify(row.item)) + 1
    const last = batches.at(-1)
    const fits =
      last?.project === row.project &&
      last.rows.length < limits.keys &&
      bytes + size <= limits.bytes &&
      cost + row.cost <= mostCost
    if (last !== undefined && fits) last.rows.push(row)
    else {
      batches.push({ project: row.project, rows: [row] })
      bytes = 0
      cost = 0
    }
    bytes += size
    cost += row.cost
  }
  return batches
}

function isSendable(row: ImportRow): row is ImportRow & { item: KeyImportItem } {
  return row.item !== undefined && row.errors.length === 0
}
