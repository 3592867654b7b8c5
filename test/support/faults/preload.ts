/**
 * Preloaded into a server process and its threads (`node --import`) to inject faults that cannot be
 * caused from outside. Reads them as JSON from the file named by FAULT_FILE.
 *
 *   shift       milliseconds to add to the wall clock; the monotonic clock stays as it is
 *   killWriter  a new number ends the writer thread
 */
import { readFileSync } from 'node:fs'
import { isMainThread, workerData } from 'node:worker_threads'

const file = process.env.FAULT_FILE ?? ''
const RealDate = Date
const isWriter = !isMainThread && typeof workerData === 'object' && 'descriptor' in workerData
const kills = read().killWriter
let { shift } = read()

function read(): { shift: number; killWriter: number } {
  try {
    return { shift: 0, killWriter: 0, ...JSON.parse(readFileSync(file, 'utf8')) }
  } catch {
    return { shift: 0, killWriter: 0 }
  }
}

class ShiftedDate extends RealDate {
  constructor(...args: unknown[]) {
    super(...((args.length === 0 ? [ShiftedDate.now()] : args) as [number]))
  }
  static override now(): number {
    return RealDate.now() + shift
  }
}
globalThis.Date = ShiftedDate as DateConstructor

setInterval(() => {
  const faults = read()
  shift = faults.shift
  if (isWriter && faults.killWriter !== kills) process.exit(1)
}, 10).unref()
