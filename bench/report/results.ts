import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Figure, ReadFigure } from './figures.ts'
import type { Machine } from './machine.ts'

/** The results of one run. */
export interface Results {
  machine: Machine
  /** How much was measured, in words. */
  scope: string
  reads: ReadFigure[]
  figures: Figure[]
}

const folder = new URL('../results/', import.meta.url)

/** Saves the results under a name, as JSON with four significant digits. */
export function saveResults(name: string, results: Results): void {
  mkdirSync(folder, { recursive: true })
  const digits = (_: string, value: unknown) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value
  writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify(results, digits, 2)}\n`)
}

/** Undefined if there are none of that name. */
export function loadResults(name: string): Results | undefined {
  try {
    return JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
