import { examineKey, type Verdict } from '@pubring/intake'
import { searchRecords } from '@pubring/intake/blocklist'
import { lowerThreadPriority } from '../runtime/threads.ts'
import type { Measured } from './fair-queue.ts'
import { findSharedPrimes as compare, type IntakeSettings, type IntakeTask } from './tasks.ts'

/** The result of a task. Never an exception: its message might quote the text. */
export type IntakeResult = { verdict: Verdict } | { failure: string }

export type WorkerTask = IntakeTask & IntakeSettings

// A key takes milliseconds and every other request microseconds, so the event loop goes first.
lowerThreadPriority()

/** Examines one key. */
export const examine = measured(examineOne)

/** Examines several keys, one after the other. */
export const examineAll = measured((tasks: WorkerTask[]) => tasks.map(examineOne))

export const findSharedPrimes = measured(compare)

/** Adds the CPU time of this thread: by the clock, other threads of the machine would count too. */
function measured<Task, Result>(work: (task: Task) => Result): (task: Task) => Measured<Result> {
  return (task) => {
    const before = process.threadCpuUsage()
    const result = work(task)
    const { user, system } = process.threadCpuUsage(before)
    return { result, cpuMs: (user + system) / 1_000 }
  }
}

function examineOne({ text, algorithm, records }: WorkerTask): IntakeResult {
  try {
    return { verdict: examineKey(text, algorithm, searchRecords(records)) }
  } catch (error) {
    return { failure: describeFailure(error) }
  }
}

/** Type and stack of an error without its message, which may quote input. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'key intake failed'
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return [`key intake failed with ${error.name}`, ...frames.slice(0, 8)].join('\n')
}
