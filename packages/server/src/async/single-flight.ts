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
