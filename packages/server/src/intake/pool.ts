import { getCompileCacheDir } from 'node:module'
import { availableParallelism } from 'node:os'
import type { Verdict } from '@pubring/intake'
import type { Algorithm } from '@pubring/intake/algorithms'
import { type Blocklist, createBlocklist } from '@pubring/intake/blocklist'
import type { Piscina } from 'piscina'
import { PubringError } from '../errors.ts'
import { present } from '../runtime/present.ts'
import { siblingModule } from '../runtime/threads.ts'
import { createFairQueue, type FairQueue, type IntakeCaller, type Measured } from './fair-queue.ts'
import type { IntakeSettings, IntakeTask, PrimesTask } from './tasks.ts'
import type { IntakeResult, WorkerTask } from './worker.ts'

interface IntakePoolOptions {
  /** Maximum number of worker threads; by default one less than the processors, at least one. */
  threads?: number
  /** Keys that may wait for a worker; see `createFairQueue`. */
  maxQueue?: number
  /** The operator's block list file: sorted records of 16 bytes. */
  blocklist?: Uint8Array
  /** The module that the workers run; tests replace it. */
  worker?: URL
}

/** The intake of one caller. */
export interface Intake {
  /**
   * The verdict of `examineKey`, off the event loop where it costs more than 2 ms. Rejects as
   * `FairQueue.run` does, with a PubringError `overloaded` if the pool is closed or the worker died,
   * and with an Error that quotes nothing of the text if the intake itself failed.
   */
  examine(text: string, algorithm?: Algorithm): Promise<Verdict>
  /** Intake for imports; the caller's single keys overtake it. */
  bulk: BulkIntake
}

export type IntakePool = ReturnType<typeof createIntakePool>

/** Keys that may wait for a worker: some 3 seconds of RSA-4096 keys on one thread. */
const defaultMaxQueue = 128
const idleTimeoutMs = 60_000
const closeTimeoutMs = 5_000

/**
 * Creates the pool. The checks are loaded with the first key, and threads start with the first one that
 * needs them.
 */
export function createIntakePool(options: IntakePoolOptions = {}) {
  const { threads: maxThreads = Math.max(1, availableParallelism() - 1) } = options
  const queue = createFairQueue(maxThreads, options.maxQueue ?? defaultMaxQueue)
  let blocklist = shareBlocklist(options.blocklist)
  const startWorkers = () => createWorkers({ ...options, threads: maxThreads })
  const threads = createThreads(startWorkers, queue, () => ({ records: blocklist.records }))
  const bulkFor = createBulkIntake(
    { examine: threads.examineAll, sharedPrimes: threads.sharedPrimes },
    Math.max(1, maxThreads - 1),
  )
  return {
    /** Callers share the threads fairly. */
    for: (caller: IntakeCaller): Intake => ({
      async examine(text, algorithm) {
        const { examineCheaply } = await import('@pubring/intake')
        const verdict = examineCheaply(text, algorithm, blocklist)
        return verdict ?? threads.examine({ text, algorithm }, caller)
      },
      bulk: bulkFor(caller),
    }),
    /** Starts a worker, so that the first key does not have to wait for it (about 0.2 s). */
    async warmUp(): Promise<void> {
      await threads.examine({ text: '' }, { callerId: '' })
    },
    /**
     * Replaces the operator's block list. Keys that are being examined finish with the old one. Throws
     * if the list is not valid; nothing has changed then.
     */
    replaceBlocklist(records: Uint8Array | undefined): void {
      blocklist = shareBlocklist(records)
    },
    /** Waits up to 5 seconds for running tasks and stops the workers. */
    close: threads.close,
  }
}

/**
 * The block list and its records in memory that all threads share: public lists have tens of
 * megabytes. Throws if the records are not valid.
 */
function shareBlocklist(bytes: Uint8Array = new Uint8Array()): Blocklist & { records: Uint8Array } {
  const records = new Uint8Array(new SharedArrayBuffer(bytes.length))
  records.set(bytes)
  return { records, ...createBlocklist(records) }
}

/**
 * Calls the functions of the worker module in a thread when it is the caller's turn. `settings` are
 * those of the moment when a task starts.
 */
function createThreads(
  startWorkers: () => Promise<Piscina>,
  queue: FairQueue,
  settings: () => IntakeSettings,
) {
  let workers: Promise<Piscina> | undefined
  let closing = false
  async function work<Task, Result>(name: string, task: Task): Promise<Measured<Result>> {
    if (closing) throw overloaded('The service is shutting down')
    try {
      workers ??= startWorkers()
      return await (await workers).run(task, { name })
    } catch (error) {
      throw overloaded('The examination of the key was interrupted', error)
    }
  }
  return {
    async examine(task: IntakeTask, caller: IntakeCaller): Promise<Verdict> {
      const examined = () => work<WorkerTask, IntakeResult>('examine', { ...task, ...settings() })
      return verdictOf(await queue.run(caller, 'single', examined))
    },
    async examineAll(tasks: IntakeTask[], caller: IntakeCaller): Promise<Verdict[]> {
      const examined = () => {
        const complete = tasks.map((task) => ({ ...task, ...settings() }))
        return work<WorkerTask[], IntakeResult[]>('examineAll', complete)
      }
      return (await queue.run(caller, 'slice', examined)).map(verdictOf)
    },
    sharedPrimes: (task: PrimesTask, caller: IntakeCaller): Promise<(number | undefined)[]> =>
      queue.run(caller, 'slice', () => work('findSharedPrimes', task)),
    async close(): Promise<void> {
      closing = true
      await (await workers)?.close()
    },
  }
}

function verdictOf(result: IntakeResult): Verdict {
  if ('verdict' in result) return result.verdict
  throw new Error(result.failure)
}

async function createWorkers(options: IntakePoolOptions & { threads: number }): Promise<Piscina> {
  const { Piscina } = await import('piscina')
  const worker = options.worker ?? siblingModule(import.meta.url, 'worker')
  return new Piscina({
    filename: worker.href,
    minThreads: 0,
    maxThreads: options.threads,
    idleTimeout: idleTimeoutMs,
    closeTimeout: closeTimeoutMs,
    resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    env: compileCacheEnvironment(),
    execArgv: [],
  })
}

/** The whole environment of a thread. Without the cache, each thread would compile every module. */
function compileCacheEnvironment(): { NODE_COMPILE_CACHE?: string } {
  const directory = getCompileCacheDir()
  return present({ NODE_COMPILE_CACHE: directory })
}

/** The cause keeps the code of the failure and drops its message, which may quote input. */
function overloaded(reason: string, error?: unknown): PubringError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'worker failed'
  const cause = error === undefined ? undefined : new Error(`intake pool: ${code}`)
  return new PubringError(
    'overloaded',
    `${reason}. Try again in a few seconds.`,
    { retryAfter: 1 },
    cause,
  )
}

/** Intake for imports. It runs in small batches, so that a single key waits for one batch at most. */
interface BulkIntake {
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
