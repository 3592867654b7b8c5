import { workerData } from 'piscina'
import type { Algorithm } from '../../contract/algorithms.ts'
import { lowerThreadPriority } from '../../runtime/priority.ts'
import { type Blocklist, createBlocklist } from '../blocklists/blocklist.ts'
import { examineKey } from '../index.ts'
import type { Verdict } from '../types.ts'
import { findSharedPrimes, type PrimesTask } from './bulk.ts'

export interface IntakeTask {
  text: string
  algorithm?: Algorithm
  /** UTF-16 units of text that are looked at; absent: as many as usual. */
  maxLength?: number
}

/** What a worker answers: never an exception, whose message might quote the text. */
export type IntakeAnswer = { verdict: Verdict } | { failure: string }

// A request of another kind takes microseconds, a key milliseconds: the key waits.
lowerThreadPriority()

const blocklist: Blocklist = createBlocklist(operatorRecords(workerData))

/** Examines one key in a worker thread. */
export function examineInWorker({ text, algorithm, maxLength }: IntakeTask): IntakeAnswer {
  try {
    return { verdict: examineKey(text, algorithm, blocklist, maxLength) }
  } catch (error) {
    return { failure: describeFailure(error) }
  }
}

/** Examines several keys, one after the other. */
export function examineManyInWorker(tasks: IntakeTask[]): IntakeAnswer[] {
  return tasks.map(examineInWorker)
}

/** Compares RSA moduli. */
export function findSharedPrimesInWorker(task: PrimesTask): (number | undefined)[] {
  return findSharedPrimes(task)
}

/** Kind and place of a failure, without its message: the platform's ones may quote input. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'key intake failed'
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return [`key intake failed with ${error.name}`, ...frames.slice(0, 8)].join('\n')
}

function operatorRecords(data: unknown): Uint8Array | undefined {
  return data instanceof Uint8Array ? data : undefined
}
