import { PubringError } from '../../errors.ts'
import { sharesPrime } from '../rsa/index.ts'
import type { Verdict } from '../types.ts'
import type { IntakeTask } from './worker.ts'

/** The work of imports: in slices, so that whoever sends a single key waits for one slice at most. */
export interface BulkIntake {
  /** The verdict of `examineKey` on each. Rejects as `IntakePool.examine` does. */
  examineAll(items: readonly IntakeTask[]): Promise<Verdict[]>
  /**
   * For each modulus (RSA `n` in base64url) from that position on: the position of one before it that
   * it shares a prime with, if there is one.
   */
  findSharedPrimes(moduli: readonly string[], from: number): Promise<(number | undefined)[]>
}

/** RSA moduli in base64url; those from that position on are compared with all before each. */
export interface PrimesTask {
  moduli: string[]
  from: number
}

/** What carries out one slice, in a thread. */
interface BulkWork {
  examine(items: IntakeTask[]): Promise<Verdict[]>
  sharedPrimes(task: PrimesTask): Promise<(number | undefined)[]>
}

/** Imports that may be under way; what they hold in memory is bounded. */
const maxUnderWay = 16

/** Short texts hold keys that cost less than 2 ms, others up to 300 ms: so many per slice. */
const shortLength = 400
const shortPerSlice = 16

/** Comparisons per slice: 3 µs each for moduli of 2048 bits, 10 µs for 4096. */
const comparisonsPerSlice = 20_000

/** Slices of all imports together that are in the threads at once: `lanes`, each import in turn. */
export function createBulkIntake(work: BulkWork, lanes: number): BulkIntake {
  const take = createLanes(lanes)
  let underWay = 0

  async function inSlices<Slice, Answer>(
    slices: Slice[],
    run: (slice: Slice) => Promise<Answer[]>,
  ): Promise<Answer[]> {
    if (underWay >= maxUnderWay) throw tooManyImports()
    underWay += 1
    const answers: Answer[][] = []
    const queue = slices.entries()
    const lane = async () => {
      for (const [index, slice] of queue) answers[index] = await take(() => run(slice))
    }
    try {
      await Promise.all(Array.from({ length: lanes }, lane))
    } finally {
      underWay -= 1
    }
    return answers.flat()
  }
  return {
    examineAll: (items) => inSlices(slicesOf(items), work.examine),
    findSharedPrimes(moduli, from) {
      const size = Math.max(1, Math.floor(comparisonsPerSlice / Math.max(1, moduli.length)))
      const starts = Array.from(
        { length: Math.ceil((moduli.length - from) / size) },
        (_, index) => from + index * size,
      )
      return inSlices(starts, (start) =>
        work.sharedPrimes({ moduli: moduli.slice(0, start + size), from: start }),
      )
    },
  }
}

/** Carries out a slice of comparisons. */
export function findSharedPrimes({ moduli, from }: PrimesTask): (number | undefined)[] {
  const numbers = moduli.map((text) =>
    BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`),
  )
  return numbers
    .slice(from)
    .map((number, index) => sharesPrime(number, numbers.slice(0, from + index)))
}

function slicesOf(items: readonly IntakeTask[]): IntakeTask[][] {
  const slices: IntakeTask[][] = []
  for (const item of items) {
    const last = slices.at(-1)
    const fits = [...(last ?? []), item].every(({ text }) => text.length <= shortLength)
    if (last !== undefined && fits && last.length < shortPerSlice) last.push(item)
    else slices.push([item])
  }
  return slices
}

/** Lets so many run at once; the others wait in the order in which they came. */
function createLanes(width: number) {
  const waiting: (() => void)[] = []
  let free = width
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}

function tooManyImports(): PubringError {
  return new PubringError(
    'overloaded',
    'Too many imports are under way. Nothing was changed: try again in a moment.',
    { retryAfter: 2 },
  )
}
