import { mkdirSync, writeFileSync } from 'node:fs'

const folder = new URL('../../../test-results/faults/', import.meta.url)

/** A row of the table in docs/faults.md, which scripts/generate-fault-table.ts writes. */
export interface FaultResult {
  fault: string
  observed: string
  /** Changes that were acknowledged before or during the fault, and how many of them were lost. */
  acknowledged: number
  lost: number
}

export function recordFault(result: FaultResult): void {
  mkdirSync(folder, { recursive: true })
  const name = result.fault.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify(result, null, 2)}\n`)
}

/** The number of acknowledged items that are missing. */
export function countLost(acknowledged: readonly string[], found: readonly string[]): number {
  const present = new Set(found)
  return acknowledged.filter((each) => !present.has(each)).length
}
