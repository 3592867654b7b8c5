import { mkdirSync, writeFileSync } from 'node:fs'

const folder = new URL('../../../test-results/faults/', import.meta.url)

/** One row of the table of faults in docs/operating.md, which scripts/generate-fault-table.ts makes. */
export interface FaultResult {
  fault: string
  done: string
  seen: string
  /** Changes that were acknowledged before or during the fault, and those of them that were gone. */
  acknowledged: number
  lost: number
}

export function recordFault(result: FaultResult): void {
  mkdirSync(folder, { recursive: true })
  const name = result.fault.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify(result, null, 2)}\n`)
}

/** How many of those that were acknowledged are not there. */
export function countLost(acknowledged: readonly string[], found: readonly string[]): number {
  const there = new Set(found)
  return acknowledged.filter((one) => !there.has(one)).length
}
