import { getCompileCacheDir } from 'node:module'
import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import type { Algorithm } from '../../contract/algorithms.ts'
import { PubringError } from '../../errors.ts'
import { siblingModule } from '../../runtime/modules.ts'
import { createBlocklist } from '../blocklists/blocklist.ts'
import { examineCheaply } from '../index.ts'
import type { Verdict } from '../types.ts'
import { type BulkIntake, createBulkIntake, type PrimesTask } from './bulk.ts'
import type { IntakeAnswer, IntakeTask } from './worker.ts'

export interface IntakePoolOptions {
  /** Worker threads at most; by default one less than the processor has, at least one. */
  threads?: number
  /** Keys that may wait for a worker; further ones are turned away. */
  maxQueue?: number
  /** UTF-16 units that the text of a key may have; by default 16,384. */
  maxLength?: number
  /** The operator's block list file: sorted records of 16 octets. */
  blocklist?: Uint8Array
  /** The module that the workers run; another one stands in for it in tests. */
  worker?: URL
}

export interface IntakePool {
  /**
   * The verdict of `examineKey`, off the event loop where it costs more than 2 ms. Rejects with a
   * PubringError `overloaded` where the queue is full, the pool is closed or a worker died, and with
   * an Error without any of the text where the intake itself failed.
   */
  examine(text: string, algorithm?: Algorithm): Promise<Verdict>
  /** What imports need, behind single keys. */
  bulk: BulkIntake
  /** Starts a worker ahead of the first key, which otherwise pays for it (about 0.2 s). */
  warmUp(): Promise<void>
  /** Lets the keys in hand finish and ends the workers. */
  close(): Promise<void>
}

const DEFAULT_MAX_QUEUE = 128
/** Milliseconds after which an idle worker ends. */
const IDLE_TIMEOUT = 60_000
/** Milliseconds that keys in hand have to finish at the end. */
const CLOSE_TIMEOUT = 5_000
const RETRY_AFTER_SECONDS = 1

/** Creates the pool; no thread runs before the first key that needs one. */
export function createIntakePool(options: IntakePoolOptions = {}): IntakePool {
  const { maxLength } = options
  const records = options.blocklist && shareOctets(options.blocklist)
  const blocklist = createBlocklist(records)
  const workers = startPool(options, records)
  const threads = createThreads(workers, maxLength)
  return {
    async examine(text, algorithm) {
      const verdict = examineCheaply(text, algorithm, blocklist, maxLength)
      return verdict ?? (await threads.examine({ text, ...(algorithm && { algorithm }) }))
    },
    bulk: createBulkIntake(
      { examine: threads.examineMany, sharedPrimes: threads.sharedPrimes },
      Math.max(1, workers.options.maxThreads - 1),
    ),
    async warmUp() {
      await threads.examine({ text: '' })
    },
    close: threads.close,
  }
}

/** The functions of the worker module, each run in a thread. */
function createThreads(workers: Piscina, maxLength: number | undefined) {
  let closing = false
  const limited = (task: IntakeTask): IntakeTask =>
    maxLength === undefined ? task : { ...task, maxLength }
  async function run<Task, Answer>(name: string, task: Task): Promise<Answer> {
    if (closing) throw overloaded('The service is shutting down')
    const answer: Answer = await workers.run(task, { name }).catch((error: unknown) => {
      throw overloaded('Too many keys are being examined at once', error)
    })
    return answer
  }
  return {
    async examine(task: IntakeTask): Promise<Verdict> {
      return verdictOf(await run('examineInWorker', limited(task)))
    },
    async examineMany(tasks: IntakeTask[]): Promise<Verdict[]> {
      const answers: IntakeAnswer[] = await run('examineManyInWorker', tasks.map(limited))
      return answers.map(verdictOf)
    },
    sharedPrimes: (task: PrimesTask): Promise<(number | undefined)[]> =>
      run('findSharedPrimesInWorker', task),
    async close(): Promise<void> {
      closing = true
      await workers.close()
    },
  }
}

function verdictOf(answer: IntakeAnswer): Verdict {
  if ('verdict' in answer) return answer.verdict
  throw new Error(answer.failure)
}

function startPool(options: IntakePoolOptions, records: Uint8Array | undefined) {
  const worker = options.worker ?? siblingModule(import.meta.url, 'worker')
  return new Piscina({
    filename: worker.href,
    minThreads: 0,
    maxThreads: options.threads ?? Math.max(1, availableParallelism() - 1),
    maxQueue: options.maxQueue ?? DEFAULT_MAX_QUEUE,
    idleTimeout: IDLE_TIMEOUT,
    closeTimeout: CLOSE_TIMEOUT,
    resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    env: compileCache(),
    execArgv: [],
    workerData: records,
  })
}

/** All that a thread gets of the environment: without it, it would compile each module anew. */
function compileCache(): { NODE_COMPILE_CACHE?: string } {
  const directory = getCompileCacheDir()
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: directory }
}

/** One copy for all threads: the public lists have tens of megabytes. */
function shareOctets(octets: Uint8Array): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(octets.length))
  shared.set(octets)
  return shared
}

/** The cause keeps the kind of the failure and drops its message. */
function overloaded(reason: string, error?: unknown): PubringError {
  const kind = error instanceof Error && 'code' in error ? String(error.code) : 'worker failed'
  const cause = error === undefined ? undefined : new Error(`intake pool: ${kind}`)
  const extras = { retryAfter: RETRY_AFTER_SECONDS }
  return new PubringError('overloaded', `${reason}. Try again in a moment.`, extras, cause)
}
