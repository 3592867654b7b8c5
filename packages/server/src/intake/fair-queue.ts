import { PubringError } from '../errors.ts'

/** For whom keys are examined. */
export interface IntakeCaller {
  callerId: string
  /** The project that the caller is bound to. */
  projectId?: string | undefined
  /** Aborted once the caller no longer waits for the result. */
  signal?: AbortSignal
}

/** A result and the CPU time that it took. */
export interface Measured<Result> {
  result: Result
  cpuMs: number
}

export type FairQueue = ReturnType<typeof createFairQueue>

type Kind = 'single' | 'slice'

/** The use that an API key has made of the threads, or all API keys of a project together. */
interface Share {
  /** CPU milliseconds, on the clock of the shares that it competes with. */
  used: number
  /** Tasks that wait or run. */
  pending: number
}

interface Group extends Share {
  callers: Map<string, Caller>
  /** Where a caller starts that had nothing pending, so that idle time earns no advance. */
  clock: number
}

interface Caller extends Share {
  group: Group
  tasks: Record<Kind, Set<Task>>
  /** CPU milliseconds of its last task, charged in advance for the next one. */
  lastCost: number
}

interface Task {
  start(): void
  cancel(error: PubringError): void
}

/** The API keys that are bound to a project count as one; one for all projects counts alone. */
export function groupOf({ callerId, projectId }: IntakeCaller): string {
  return projectId ?? callerId
}

/**
 * Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996) by CPU time, first among projects,
 * then among the API keys of a project. The next task is one of those who used least, so a newcomer
 * waits only for the tasks that run, however many others wait. Long because its functions share the
 * counts.
 *
 * @param slots Tasks that run at once.
 * @param maxWaiting Single tasks that may wait, half of them for one API key. When it is full, the
 *   API key with the most gives up its newest one to a caller with fewer.
 */
export function createFairQueue(slots: number, maxWaiting: number) {
  const maxPerCaller = Math.ceil(maxWaiting / 2)
  const groups = new Map<string, Group>()
  let clock = 0
  let running = 0

  function callerOf(caller: IntakeCaller): Caller {
    const id = groupOf(caller)
    const group = groups.get(id) ?? { ...unused, callers: new Map(), clock: 0 }
    groups.set(id, group)
    const tasks = { single: new Set<Task>(), slice: new Set<Task>() }
    const known = group.callers.get(caller.callerId) ?? { ...unused, group, tasks, lastCost: 1 }
    group.callers.set(caller.callerId, known)
    return known
  }
  function requireRoom(caller: Caller): void {
    const own = singlesOf(caller)
    if (own >= maxPerCaller) throw tooManyOfCaller(own, (own * caller.lastCost) / slots)
    const total = groups.values().reduce((sum, group) => sum + singlesOfGroup(group), 0)
    if (total < maxWaiting) return
    const group = largest(groups.values(), singlesOfGroup)
    const fullest = group && largest(group.callers.values(), singlesOf)
    if (fullest === undefined || !hasMore(fullest, caller)) throw tooManyInTotal()
    ;[...fullest.tasks.single].at(-1)?.cancel(tooManyInTotal())
  }
  function waitForTurn(caller: Caller, kind: Kind, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const { group, tasks } = caller
    const task: Task = {
      start() {
        tasks[kind].delete(task)
        resolve()
      },
      cancel(error) {
        if (!tasks[kind].delete(task)) return
        settle(caller)
        reject(error)
      },
    }
    const onAbort = () => task.cancel(callerLeft())
    signal?.addEventListener('abort', onAbort)
    if (group.pending === 0) group.used = Math.max(group.used, clock)
    if (caller.pending === 0) caller.used = Math.max(caller.used, group.clock)
    for (const share of [group, caller]) share.pending += 1
    tasks[kind].add(task)
    startNext()
    return promise.finally(() => signal?.removeEventListener('abort', onAbort))
  }
  function startNext(): void {
    while (running < slots) {
      const group = leastUsed(groups.values().filter(hasWaiting))
      const caller = group && leastUsed(group.callers.values().filter(isWaiting))
      if (caller === undefined) return
      clock = Math.max(clock, caller.group.used)
      caller.group.clock = Math.max(caller.group.clock, caller.used)
      running += 1
      charge(caller, caller.lastCost)
      const { single, slice } = caller.tasks
      const [task] = single.size > 0 ? single : slice
      task?.start()
    }
  }
  /** Ends a task, and forgets shares that start at the clock again anyway. */
  function settle(caller: Caller): void {
    const { group } = caller
    for (const share of [group, caller]) share.pending -= 1
    if (group.pending > 0) return
    const isIdle = groups.values().every(({ pending }) => pending === 0)
    if (isIdle) groups.clear()
  }
  async function measure<Result>(
    caller: Caller,
    work: () => Promise<Measured<Result>>,
  ): Promise<Result> {
    const charged = caller.lastCost
    const start = performance.now()
    try {
      const { result, cpuMs } = await work()
      caller.lastCost = cpuMs
      return result
    } catch (error) {
      caller.lastCost = performance.now() - start
      throw error
    } finally {
      charge(caller, caller.lastCost - charged)
      running -= 1
      settle(caller)
      startNext()
    }
  }
  return {
    /**
     * Runs the work when it is the caller's turn. Slices of bulk work come after the single tasks of
     * the same API key and do not count for the limits. Rejects with `rate_limited` if too many tasks
     * of the API key wait, with `overloaded` if too many wait in total, and if the caller leaves
     * before its turn.
     */
    async run<Result>(
      intakeCaller: IntakeCaller,
      kind: Kind,
      work: () => Promise<Measured<Result>>,
    ): Promise<Result> {
      const { signal } = intakeCaller
      if (signal?.aborted) throw callerLeft()
      const caller = callerOf(intakeCaller)
      if (kind === 'single') requireRoom(caller)
      await waitForTurn(caller, kind, signal)
      return measure(caller, work)
    },
  }
}

const unused = { used: 0, pending: 0 }

function charge(caller: Caller, cpuMs: number): void {
  caller.used += cpuMs
  caller.group.used += cpuMs
}

const singlesOf = ({ tasks }: Caller): number => tasks.single.size

const singlesOfGroup = ({ callers }: Group): number =>
  callers.values().reduce((sum, caller) => sum + singlesOf(caller), 0)

/** Whether a caller still has more waiting if it gives up a place to the other. */
function hasMore(caller: Caller, other: Caller): boolean {
  if (caller.group === other.group) return singlesOf(caller) > singlesOf(other) + 1
  return singlesOfGroup(caller.group) > singlesOfGroup(other.group) + 1
}

function largest<Item>(items: Iterable<Item>, sizeOf: (item: Item) => number): Item | undefined {
  return [...items].reduce<Item | undefined>(
    (best, item) => (best === undefined || sizeOf(item) > sizeOf(best) ? item : best),
    undefined,
  )
}

const isWaiting = ({ tasks }: Caller): boolean => tasks.single.size + tasks.slice.size > 0

const hasWaiting = ({ callers }: Group): boolean => callers.values().some(isWaiting)

function leastUsed<Item extends Share>(shares: Iterable<Item>): Item | undefined {
  return largest(shares, ({ used }) => -used)
}

function tooManyOfCaller(count: number, waitMs: number): PubringError {
  const retryAfter = Math.min(60, Math.max(1, Math.ceil(waitMs / 1_000)))
  return new PubringError(
    'rate_limited',
    `${count} keys of your API key already wait to be examined. Try again in ${retryAfter} s, and send fewer at once.`,
    { retryAfter },
  )
}

function tooManyInTotal(): PubringError {
  const detail = 'Too many keys are waiting to be examined. Try again in a few seconds.'
  return new PubringError('overloaded', detail, { retryAfter: 1 })
}

function callerLeft(): PubringError {
  const detail = 'The connection was closed before the response. No key was registered.'
  return new PubringError('invalid_request', detail)
}
