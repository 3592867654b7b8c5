import { workerData } from 'piscina'
import { lowerThreadPriority } from '../../runtime/priority.ts'
import { createBlocklist } from '../blocklists/blocklist.ts'
import { examineKey } from '../index.ts'
import type { Verdict } from '../types.ts'
import type { IntakeTask } from './tasks.ts'

export { findSharedPrimes } from './tasks.ts'

/** The result of a task. Never an exception: its message might quote the text. */
export type IntakeResult = { verdict: Verdict } | { failure: string }

// A key takes milliseconds and every other request microseconds, so the event loop goes first.
lowerThreadPriority()

const blocklist = createBlocklist(workerData instanceof Uint8Array ? workerData : undefined)

/** Examines one key. */
export function examine({ text, algorithm, maxLength }: IntakeTask): IntakeResult {
  try {
    return { verdict: examineKey(text, algorithm, blocklist, maxLength) }
  } catch (error) {
    return { failure: describeFailure(error) }
  }
}

/** Examines several keys, one after the other. */
export function examineAll(tasks: IntakeTask[]): IntakeResult[] {
  return tasks.map(examine)
}

/** Type and stack of an error without its message, which may quote input. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'key intake failed'
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return [`key intake failed with ${error.name}`, ...frames.slice(0, 8)].join('\n')
}
