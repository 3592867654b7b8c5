import type { Origin } from '../../kernel/changes.ts'
import type { LogSigner } from '../../kernel/context.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { oneFor } from '../../kernel/shared.ts'
import type { RunLimits } from './appending.ts'
import type { LogTree } from './changes.ts'
import { faultIn, type LogFault, logError } from './faults.ts'
import { readTree } from './reads.ts'
import {
  isDateDue,
  type LogContext,
  requireContinuous,
  restartLog,
  signCheckpoint,
} from './signing.ts'
import { compareSomeEntries } from './tiles.ts'
import { createWitnesses, type WitnessResult } from './witnesses.ts'

/** `error`: one that no fault of the log has caused, such as of the storage. */
export interface LogState {
  fault?: LogFault
  /** The error that has caused the fault, where there is one. */
  cause?: unknown
  error?: unknown
}

/** The part of this process in the log. All but the state throw `log_stopped` if it has none. */
export type Log = ReturnType<typeof createLog>

/**
 * Milliseconds between checkpoints, if there are changes: witnesses accept one a minute, and the cost
 * of a run is noise at that rate.
 */
const intervalMs = 60_000

/**
 * The heads that a run at the interval appends at most, at a cost of one to two seconds of CPU. The next
 * run follows at once.
 */
export const maxHeadsPerRun = 20_000

/**
 * Signs checkpoints at the interval, if this process has a key, and on request. Runs follow
 * one another: one that is requested begins after those before it.
 */
export function createLog(context: LogContext, signer: LogSigner | undefined) {
  const { reader } = context.store
  const observers: ((state: LogState) => void)[] = []
  let state: LogState = {}
  let work: Promise<unknown> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  /** From where the next run compares entries with the tree. */
  let nextCompared = 0

  /** Repeats a task during which another replica has restarted the log: what was read is of two trees. */
  async function onOneTree<Result>(
    task: (tree: LogTree | undefined) => Promise<Result>,
  ): Promise<Result> {
    const tree = await readTree(reader)
    try {
      return await task(tree)
    } catch (error) {
      if ((await readTree(reader))?.id === tree?.id) throw error
      return onOneTree(task)
    }
  }
  function compareAndSign(one: LogSigner, limits: RunLimits) {
    return onOneTree(async (tree) => {
      const size = tree?.size ?? 0
      nextCompared = await compareSomeEntries(reader, size, nextCompared < size ? nextCompared : 0)
      return signCheckpoint(context, one, limits)
    })
  }
  /** Signs a checkpoint with all heads that have moved, after some with a part of them. */
  async function signAll(one: LogSigner): Promise<LogTree> {
    const { isPartial, ...tree } = await compareAndSign(one, { maxHeads: maxHeadsPerRun })
    return isPartial ? signAll(one) : tree
  }
  function run<Result>(task: (signer: LogSigner) => Promise<Result>): Promise<Result> {
    if (signer === undefined) return Promise.reject(logError('no_key'))
    const running = work.then(() => task(signer))
    work = running.then(
      () => report({}),
      (error: unknown) => {
        const fault = faultIn(error)
        // A restart that was refused changes nothing.
        if (fault === 'key_used') return
        report(fault === undefined ? { error } : { fault, ...causeOf(error) })
      },
    )
    return running
  }
  function report(next: LogState): void {
    state = next
    for (const observe of observers) observe(next)
  }
  function schedule(delayMs: number, minAgeMs = delayMs): void {
    clearTimeout(timer)
    if (isClosed || signer === undefined) return
    timer = setTimeout(async () => {
      const limits = { minAgeMs, maxHeads: maxHeadsPerRun }
      // Observers report a failure.
      const signed = await run((one) => compareAndSign(one, limits)).catch(() => undefined)
      schedule(signed?.isPartial ? 0 : intervalMs)
    }, delayMs).unref()
  }
  schedule(intervalMs)
  return {
    /**
     * Learns whether this process can sign, before it does. Returns false if an error prevents that. If
     * nobody has dated the checkpoint lately, it signs at once: verifiers reject an old date.
     */
    check: (): Promise<boolean> =>
      // Observers report a failure.
      run(async (one) => {
        await onOneTree(() => requireContinuous(context, one))
        if (await isDateDue(context, one)) schedule(0, intervalMs)
      }).then(
        () => true,
        (error: unknown) => faultIn(error) !== undefined,
      ),
    /** A checkpoint with everything that was committed before the call. */
    sign: (): Promise<LogTree> => run(signAll),
    /** Starts a tree with a new key, where the one before cannot go on, and signs its first checkpoint. */
    restart: (origin: Origin): Promise<LogTree> =>
      run(async (one) => {
        await restartLog(context, one, origin)
        return signAll(one)
      }),
    /** The state after the last run. */
    state: () => state,
    /** The outcome of the last checkpoint at each witness. */
    witnesses: (): readonly WitnessResult[] => context.witnesses?.results() ?? [],
    /** Called after each run. */
    onRun: (observe: (state: LogState) => void) => void observers.push(observe),
    close(): void {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

function causeOf(error: unknown): Pick<LogState, 'cause'> {
  return error instanceof Error && error.cause !== undefined ? { cause: error.cause } : {}
}

/** The log, which signs while the process runs. It is checked once the database can be read. */
export const logOf = oneFor((kernel: Kernel) => {
  const { store, clock, config, fetch, logSigner, watch, onClose } = kernel
  const witnesses = createWitnesses(config.logWitnesses, fetch)
  const log = createLog({ store, clock, config, witnesses }, logSigner)
  let mustCheck = true
  watch.onRead(async ({ outcome }) => {
    if (!mustCheck || outcome !== 'completed') return
    mustCheck = false
    mustCheck = !(await log.check())
  })
  onClose(log.close)
  return log
})
