/**
 * Preloaded into a server process and its threads (`node --import`): does to them from inside what
 * nothing can do from outside. The file that FAULT_FILE names says what, as JSON.
 *
 *   shift       milliseconds by which the wall clock is put forward; the monotonic one goes on
 *   killWriter  any number that was not there before ends the thread that writes
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
  constructor(...given: unknown[]) {
    const moment = given.length === 0 ? [ShiftedDate.now()] : given
    super(...(moment as [number]))
  }
  static override now(): number {
    return RealDate.now() + shift
  }
}
globalThis.Date = ShiftedDate as DateConstructor

setInterval(() => {
  const now = read()
  shift = now.shift
  if (isWriter && now.killWriter !== kills) process.exit(1)
}, 10).unref()
