import { setFlagsFromString } from 'node:v8'

/**
 * Has V8 collect old objects as soon as they have grown by this part since the last time. By default it
 * lets them grow to four times as much, which a cache that replaces its entries always reaches.
 */
const growthPercent = 40

/** For the whole process, its threads included. Changes no limit: a process may need all of its memory. */
export function limitHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`)
}
