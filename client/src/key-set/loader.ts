import { type Moment, now, since } from './timestamp.ts'

/** Milliseconds for which a failure to load answers all who ask. */
const failureRest = 1_000

/** Loads the key set for whoever waits for it: once for all, and not again at once after a failure. */
export type Loader = {
  load(): Promise<void>
  /** Whether the last load is so recent that an unknown kid is no reason for another one. */
  coolingDown(): boolean
}

export function createLoader(ask: () => Promise<unknown>, coolDown: number): Loader {
  let running: Promise<void> | undefined
  let loaded: Moment | undefined
  let failure: { error: unknown; moment: Moment } | undefined

  async function run(): Promise<void> {
    try {
      await ask()
      failure = undefined
      loaded = now()
    } catch (error) {
      failure = { error, moment: now() }
      throw error
    } finally {
      running = undefined
    }
  }
  return {
    async load() {
      if (failure !== undefined && since(failure.moment) < failureRest) throw failure.error
      running ??= run()
      await running
    },
    coolingDown: () => loaded !== undefined && since(loaded) < coolDown,
  }
}
