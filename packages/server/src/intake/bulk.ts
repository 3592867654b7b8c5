import type { Verdict } from '@pubring/intake'
import type { IntakeCaller } from './fair-queue.ts'
import type { IntakeTask, PrimesTask } from './tasks.ts'

/** Intake for imports. It runs in small batches, so that a single key waits for one batch at most. */
export interface BulkIntake {
  /** The verdict of `examineKey` on each key. Rejects as `IntakePool.examine` does. */
  examineAll(tasks: readonly IntakeTask[]): Promise<Verdict[]>
  /**
   * Compares RSA moduli (`n` in base64url). For each one from index `from` on, returns the index of
   * an earlier one that shares a prime with it, or undefined.
   */
  findSharedPrimes(moduli: readonly string[], from: number): Promise<(number | undefined)[]>
}

/** Runs one batch in a worker thread when it is the caller's turn. */
interface BatchRunner {
  examine(tasks: IntakeTask[], caller: IntakeCaller): Promise<Verdict[]>
  sharedPrimes(task: PrimesTask, caller: IntakeCaller): Promise<(number | undefined)[]>
}

/** Texts up to this length hold keys that take less than 2 ms; longer ones can take 300 ms. */
const shortLength = 400
const shortKeysPerBatch = 16

/** Comparisons per batch: 3 µs each for moduli of 2048 bits, 10 µs for 4096. */
const comparisonsPerBatch = 20_000

/** Runs at most `concurrency` batches of one import at once. */
export function createBulkIntake(
  runner: BatchRunner,
  concurrency: number,
): (caller: IntakeCaller) => BulkIntake {
  async function runBatches<Batch, Result>(
    caller: IntakeCaller,
    batches: Batch[],
    run: (batch: Batch, caller: IntakeCaller) => Promise<Result[]>,
  ): Promise<Result[]> {
    const results: Result[][] = []
    const queue = batches.entries()
    let ended = false
    async function runQueue(): Promise<void> {
      for (const [index, batch] of queue) {
        if (ended) return
        results[index] = await run(batch, caller)
      }
    }
    try {
      await Promise.all(Array.from({ length: concurrency }, runQueue))
    } finally {
      ended = true
    }
    return results.flat()
  }
  return (caller) => ({
    examineAll: (tasks) => runBatches(caller, batchesOf(tasks), runner.examine),
    findSharedPrimes(moduli, from) {
      const size = Math.max(1, Math.floor(comparisonsPerBatch / Math.max(1, moduli.length)))
      const starts = Array.from(
        { length: Math.ceil((moduli.length - from) / size) },
        (_, index) => from + index * size,
      )
      return runBatches(caller, starts, (start) =>
        runner.sharedPrimes({ moduli: moduli.slice(0, start + size), from: start }, caller),
      )
    },
  })
}

/** Groups short keys; a long one is a batch of its own. */
function batchesOf(tasks: readonly IntakeTask[]): IntakeTask[][] {
  const batches: IntakeTask[][] = []
  for (const task of tasks) {
    const last = batches.at(-1)
    const fits = [...(last ?? []), task].every(({ text }) => text.length <= shortLength)
    if (last !== undefined && fits && last.length < shortKeysPerBatch) last.push(task)
    else batches.push([task])
  }
  return batches
}
