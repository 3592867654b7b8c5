import { PubringError } from '../errors.ts'

/** Who waits for a turn. */
interface Waiting {
  take(): void
}

export interface Turns {
  /**
   * Resolves when it is the caller's turn, first come first served; then `done` must be called once.
   * Rejects with `storage_unavailable` after `patience` milliseconds, and with `overloaded` where
   * too many wait.
   */
  take(patience: number): Promise<() => void>
  /** Whether nobody has a turn. */
  isIdle(): boolean
}

interface Bounds {
  atOnce: number
  waiting: number
}

/** The same for each name: those of one do not wait for those of another. */
export function createNamedTurns(bounds: Bounds) {
  const named = new Map<string, Turns>()
  return {
    async take(name: string, patience: number): Promise<() => void> {
      const turns = named.get(name) ?? createTurns(bounds)
      named.set(name, turns)
      const done = await turns.take(patience)
      return () => {
        done()
        if (turns.isIdle()) named.delete(name)
      }
    },
  }
}

/** Lets so many go on at once, and so many wait for it, none of them without end. */
export function createTurns({ atOnce, waiting }: Bounds): Turns {
  const queue = new Set<Waiting>()
  let taken = 0

  function done(): void {
    const [next] = queue
    if (next === undefined) taken -= 1
    else next.take()
  }
  function once(): () => void {
    let over = false
    return () => {
      if (!over) done()
      over = true
    }
  }
  return {
    isIdle: () => taken === 0,
    async take(patience) {
      if (taken < atOnce) {
        taken += 1
        return once()
      }
      if (queue.size >= waiting) throw overloaded()
      const { promise, resolve, reject } = Promise.withResolvers<() => void>()
      const timer = setTimeout(() => {
        queue.delete(entry)
        reject(busy())
      }, patience)
      const entry: Waiting = {
        take() {
          clearTimeout(timer)
          queue.delete(entry)
          resolve(once())
        },
      }
      queue.add(entry)
      return promise
    },
  }
}

function busy(): PubringError {
  return new PubringError(
    'storage_unavailable',
    'The database is busy: no connection to it became free in time. Try again in a few seconds.',
    { retryAfter: 2 },
  )
}

function overloaded(): PubringError {
  const detail = 'Too many requests are waiting for the database. Try again shortly.'
  return new PubringError('overloaded', detail, { retryAfter: 1 })
}
