import { expect, inject } from 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Whether this run asserts bounds of real time, for which the machine must have nothing else to do. */
    isTimed: boolean
    /** Whether this run is `npm run test:day`. */
    isDay: boolean
  }
}

/** Asserts the bound, in the run of the long tests; the others pass on a machine of any speed. */
export function expectWithin(limitMs: number, elapsedMs: number): void {
  if (inject('isTimed')) expect(elapsedMs).toBeLessThan(limitMs)
}
