/** One run in progress. `isSuperseded` tells a run whether its result may be outdated. */
export interface Flight {
  isSuperseded: boolean
}

export interface SingleFlight<Result> {
  /** Runs `work` unless a run for the key is in progress; concurrent callers share its result. */
  run(key: string, work: (flight: Flight) => Promise<Result>): Promise<Result>
  /**
   * The next call for the key (or for any key) starts a new run. Runs in progress are marked as
   * superseded and still settle for the callers that wait for them.
   */
  supersede(key?: string): void
}

/** At most one run per key at a time, such as one query for all that miss the same cache entry. */
export function createSingleFlight<Result>(): SingleFlight<Result> {
  const flights = new Map<string, Flight & { result: Promise<Result> }>()

  function start(key: string, work: (flight: Flight) => Promise<Result>): Promise<Result> {
    const flight = { isSuperseded: false, result: Promise.resolve<Result | undefined>(undefined) }
    const result = work(flight).finally(() => {
      if (flights.get(key)?.result === result) flights.delete(key)
    })
    flights.set(key, Object.assign(flight, { result }))
    return result
  }
  return {
    run: (key, work) => flights.get(key)?.result ?? start(key, work),
    supersede(key) {
      for (const [name, flight] of key === undefined
        ? flights
        : [[key, flights.get(key)] as const]) {
        if (flight !== undefined) flight.isSuperseded = true
        flights.delete(name)
      }
    },
  }
}
