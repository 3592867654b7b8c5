import { setImmediate as endOfTurn } from 'node:timers/promises'

/** One run of work that concurrent callers share. */
export interface Flight<Result> {
  /** Whether `supersede` was called since it started: its result may be outdated. */
  readonly isSuperseded: boolean
  readonly result: Promise<Result>
}

type Work<Result> = (flight: Pick<Flight<Result>, 'isSuperseded'>) => Promise<Result>

/** At most one run per key at a time, such as one query for all that miss the same cache entry. */
export function createSingleFlight<Result>() {
  const flights = new Map<string, { isSuperseded: boolean; result: Promise<Result> }>()

  function start(key: string, work: Work<Result>): Flight<Result> {
    const state = { isSuperseded: false }
    const result = work(state).finally(() => {
      if (flights.get(key) === flight) flights.delete(key)
    })
    const flight = Object.assign(state, { result })
    flights.set(key, flight)
    return flight
  }
  /** Joins the run in progress for the key, or starts `work`. */
  const join = (key: string, work: Work<Result>): Flight<Result> =>
    flights.get(key) ?? start(key, work)

  return {
    join,
    /** The result of `join`. */
    run: (key: string, work: Work<Result>) => join(key, work).result,
    /**
     * The next call for the key (or for any key) starts a new run. Runs in progress are marked as
     * superseded and still settle for the callers that wait for them.
     */
    supersede(key?: string): void {
      for (const name of key === undefined ? [...flights.keys()] : [key]) {
        const flight = flights.get(name)
        if (flight !== undefined) flight.isSuperseded = true
        flights.delete(name)
      }
    },
  }
}

/** Loads the values of the ids that have one. The query starts after the call. */
export type Load<Value> = (ids: readonly string[]) => Promise<Map<string, Value>>

interface Batch<Value> {
  ids: Set<string>
  result: Promise<Map<string, Value>>
}

/**
 * Gathers concurrent calls into one query. One query runs at a time; calls made meanwhile share the
 * next one, because a query that started before a call could miss a change acknowledged in between.
 * A query starts at the end of a turn of the event loop, once all requests that arrived in it are
 * read, so the store sees one query per round trip. The result can have more ids than requested.
 */
export function createBatchLoader<Value>(load: Load<Value>): Load<Value> {
  let running: Promise<unknown> = Promise.resolve()
  let next: Batch<Value> | undefined

  function openBatch(): Batch<Value> {
    const ids = new Set<string>()
    const result = running.then(endOfTurn).then(() => {
      // Close the batch before its query starts: later calls belong to the next one.
      next = undefined
      return load([...ids])
    })
    running = result.catch(() => undefined)
    return { ids, result }
  }

  return (ids) => {
    next ??= openBatch()
    for (const id of ids) next.ids.add(id)
    return next.result
  }
}
