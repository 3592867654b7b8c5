/**
 * Preloaded into a server process and its threads (`node --import`) to inject faults that cannot be
 * caused from outside. Reads them as JSON from the file named by FAULT_FILE.
 *
 *   shift       milliseconds to add to the wall clock; the monotonic clock stays as it is
 *   killWriter  a new number ends the writer thread
 *   eio         reads of open files fail, as on a disk that fails
 */
import fs, { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread, workerData } from 'node:worker_threads'

const file = process.env.FAULT_FILE ?? ''
const RealDate = Date
const isWriter = !isMainThread && typeof workerData === 'object' && 'descriptor' in workerData
const kills = read().killWriter
let { shift, eio } = read()

function read(): { shift: number; killWriter: number; eio: boolean } {
  const none = { shift: 0, killWriter: 0, eio: false }
  try {
    return { ...none, ...JSON.parse(readFileSync(file, 'utf8')) }
  } catch {
    return none
  }
}

const { readSync } = fs
Object.assign(fs, {
  readSync(...args: unknown[]) {
    if (!eio) return Reflect.apply(readSync, fs, args)
    throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' })
  },
})
syncBuiltinESMExports()

class ShiftedDate extends RealDate {
  constructor(...args: unknown[]) {
    super(...((args.length === 0 ? [ShiftedDate.now()] : args) as [number]))
  }
  static override now(): number {
    return RealDate.now() + shift
  }
}
globalThis.Date = ShiftedDate as DateConstructor
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + shift })

setInterval(() => {
  const faults = read()
  shift = faults.shift
  eio = faults.eio
  if (isWriter && faults.killWriter !== kills) process.exit(1)
}, 10).unref()
