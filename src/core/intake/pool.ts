import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import type { Algorithm } from '../../contract/algorithms.ts'
import { PubringError } from '../../errors.ts'
import { createBlocklist } from './blocklist.ts'
import { examineCheaply } from './index.ts'
import type { Verdict } from './types.ts'
import type { IntakeAnswer, IntakeTask } from './worker.ts'

export interface IntakePoolOptions {
  /** Worker threads at most; by default one less than the processor has, at least one. */
  threads?: number
  /** Keys that may wait for a worker; further ones are turned away. */
  maxQueue?: number
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
  const records = options.blocklist && shareOctets(options.blocklist)
  const blocklist = createBlocklist(records)
  const workers = startPool(options, records)
  let closing = false

  async function examineInPool(task: IntakeTask): Promise<Verdict> {
    if (closing) throw overloaded('The service is shutting down')
    const answer = await workers.run(task).catch((error: unknown) => {
      throw overloaded('Too many keys are being examined at once', error)
    })
    if ('verdict' in answer) return answer.verdict
    throw new Error(answer.failure)
  }

  return {
    async examine(text, algorithm) {
      const verdict = examineCheaply(text, algorithm, blocklist)
      return verdict ?? (await examineInPool(algorithm ? { text, algorithm } : { text }))
    },
    async warmUp() {
      await examineInPool({ text: '' })
    },
    async close() {
      closing = true
      await workers.close()
    },
  }
}

function startPool(options: IntakePoolOptions, records: Uint8Array | undefined) {
  const worker = options.worker ?? new URL('./worker.ts', import.meta.url)
  return new Piscina<IntakeTask, IntakeAnswer>({
    filename: worker.href,
    name: 'examineInWorker',
    minThreads: 0,
    maxThreads: options.threads ?? Math.max(1, availableParallelism() - 1),
    maxQueue: options.maxQueue ?? DEFAULT_MAX_QUEUE,
    idleTimeout: IDLE_TIMEOUT,
    closeTimeout: CLOSE_TIMEOUT,
    resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    env: {},
    execArgv: [],
    workerData: records,
  })
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
