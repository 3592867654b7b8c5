/** Arithmetic on non-negative integers that BigInt does not provide. */

export function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length
}

/** Greatest common divisor by Euclid. */
export function gcd(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b]
  return a
}

/** base^exponent mod modulus, by squaring from the top bit. Not constant time: public data only. */
export function modPow(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n % modulus
  const reduced = base % modulus
  for (const bit of exponent.toString(2)) {
    result = (bit === '1' ? result * result * reduced : result * result) % modulus
  }
  return result
}

/**
 * ⌊√n⌋. Newton's iteration in growing precision: every step doubles the number of correct bits and
 * divides numbers only as long as it needs them (the method of CPython's `math.isqrt`).
 */
export function isqrt(n: bigint): bigint {
  if (n < 0n) throw new RangeError('isqrt of a negative number')
  if (n === 0n) return 0n
  const half = (bitLength(n) - 1) >> 1
  let root = 1n
  let precision = 0
  for (let shift = 31 - Math.clz32(half); shift >= 0; shift--) {
    const before = precision
    precision = half >> shift
    const dropped = BigInt(2 * half - before - precision + 1)
    root = (root << BigInt(precision - before - 1)) + (n >> dropped) / root
  }
  return root * root > n ? root - 1n : root
}

/** Bit r is set when r is a square modulo 64. Rules out 13 of 16 numbers for one small AND. */
const squaresModulo64 = 0x202021202030213n

/** √n when `n` is a perfect square, otherwise undefined. */
export function exactSquareRoot(n: bigint): bigint | undefined {
  if (n < 0n || ((squaresModulo64 >> (n & 63n)) & 1n) === 0n) return undefined
  const root = isqrt(n)
  return root * root === n ? root : undefined
}

/** ⌊n^(1/k)⌋ for k ≥ 2, by Newton's iteration from above. */
export function integerRoot(n: bigint, k: number): bigint {
  if (n < 2n) return n
  const degree = BigInt(k)
  let root = 1n << BigInt(Math.ceil(bitLength(n) / k))
  for (;;) {
    const next = ((degree - 1n) * root + n / root ** (degree - 1n)) / degree
    if (next >= root) return root
    root = next
  }
}
