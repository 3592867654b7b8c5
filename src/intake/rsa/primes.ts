import { lazy } from './lazy.ts'

/** The largest prime in the search for small factors: 2^16 + 1. */
const maxSmallPrime = 65537

/** All primes up to 65537 in order (sieve of Eratosthenes). */
export const smallPrimes = lazy((): readonly number[] => {
  const composite = new Uint8Array(maxSmallPrime + 1)
  const primes: number[] = []
  for (let candidate = 2; candidate <= maxSmallPrime; candidate++) {
    if (composite[candidate] === 1) continue
    primes.push(candidate)
    for (let multiple = candidate ** 2; multiple <= maxSmallPrime; multiple += candidate) {
      composite[multiple] = 1
    }
  }
  return Object.freeze(primes)
})

/** A node of the remainder tree: the product of all primes below it. */
interface Node {
  readonly product: bigint
  readonly children: readonly Node[]
  /** At a leaf: consecutive primes whose product is exact as a Number. */
  readonly primes: readonly number[]
}

const fanOut = 4

function leaves(): Node[] {
  const nodes: Node[] = []
  let primes: number[] = []
  let exact = 1
  const close = () => nodes.push({ product: BigInt(exact), children: [], primes })
  for (const prime of smallPrimes()) {
    if (exact * prime > Number.MAX_SAFE_INTEGER) {
      close()
      primes = []
      exact = 1
    }
    primes.push(prime)
    exact *= prime
  }
  close()
  return nodes
}

/**
 * Remainder tree over all small primes: n modulo a long product, that remainder modulo the parts of
 * the product, and so on, so that most divisions are short (Bernstein, "Fast multiplication and its
 * applications", section 18). The top products have about 3,000 bits: longer ones cost more than
 * they save for moduli of 2048 to 8192 bits.
 */
const remainderTree = lazy((): readonly Node[] => {
  let level = leaves()
  while (level.length > 48) {
    const parents: Node[] = []
    for (let start = 0; start < level.length; start += fanOut) {
      const children = level.slice(start, start + fanOut)
      const all = product(children.map((child) => child.product))
      parents.push({ product: all, children, primes: [] })
    }
    level = parents
  }
  return Object.freeze(level)
})

function* descend(n: bigint, nodes: readonly Node[]): Generator<number> {
  for (const node of nodes) {
    const remainder = n % node.product
    if (node.children.length > 0) {
      yield* descend(remainder, node.children)
      continue
    }
    const small = Number(remainder)
    for (const prime of node.primes) if (small % prime === 0) yield prime
  }
}

/** The distinct primes up to 65537 that divide `n` > 0, in ascending order, computed lazily. */
export function smallPrimeDivisors(n: bigint): Generator<number> {
  return descend(n, remainderTree())
}

/** The product of all numbers, by a balanced tree: multiplication is fastest for equal lengths. */
export function product(numbers: readonly bigint[]): bigint {
  let level = numbers
  while (level.length > 1) {
    const next: bigint[] = []
    for (let i = 0; i < level.length; i += 2) next.push((level[i] ?? 1n) * (level[i + 1] ?? 1n))
    level = next
  }
  return level[0] ?? 1n
}
