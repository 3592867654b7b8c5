import { modPow } from '../arithmetic.ts'
import { toBigInt } from '../encoding/bytes.ts'

/** Edwards25519 (RFC 8032 section 5.1) in extended coordinates (Hisil et al. 2008). */
export interface EdwardsPoint {
  x: bigint
  y: bigint
  z: bigint
  t: bigint
}

const P = 2n ** 255n - 19n
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n
/** A square root of -1 modulo P. */
const ROOT = 19681161376707505956807079304988542015446066515923890162744021073123829784752n
/** Order of the base point. */
const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n

const identity: EdwardsPoint = { x: 0n, y: 1n, z: 1n, t: 0n }

export type Decoding = EdwardsPoint | 'not_canonical' | 'not_on_curve'

/** Decodes 32 bytes exactly as RFC 8032 section 5.1.3 requires. */
export function decodePoint(bytes: Uint8Array): Decoding {
  const number = toBigInt(bytes.toReversed())
  const sign = number >> 255n
  const y = number & (2n ** 255n - 1n)
  if (y >= P) return 'not_canonical'
  const u = mod(y * y - 1n)
  const v = mod(D * y * y + 1n)
  const x = squareRootOfRatio(u, v)
  if (x === undefined) return 'not_on_curve'
  if (x === 0n && sign === 1n) return 'not_canonical'
  return fromAffine((x & 1n) === sign ? x : P - x, y)
}

/** Whether 8A = 0. The eight points of small order have no private key. */
export function hasSmallOrder(point: EdwardsPoint): boolean {
  return isIdentity(double(double(double(point))))
}

/** Whether LA = 0, as for every multiple of the base point, L being its order. */
export function isInPrimeGroup(point: EdwardsPoint): boolean {
  const negative: EdwardsPoint = { x: P - point.x, y: point.y, z: point.z, t: P - point.t }
  let sum = identity
  for (const digit of groupOrderDigits) {
    sum = double(sum)
    if (digit === 1) sum = add(sum, point)
    if (digit === -1) sum = add(sum, negative)
  }
  return isIdentity(sum)
}

/** The group order in non-adjacent form, most significant digit first. */
const groupOrderDigits: readonly number[] = nonAdjacentForm(groupOrder)

function nonAdjacentForm(value: bigint): number[] {
  const digits: number[] = []
  let rest = value
  while (rest > 0n) {
    const digit = (rest & 1n) === 0n ? 0 : 2 - Number(rest & 3n)
    digits.unshift(digit)
    rest = (rest - BigInt(digit)) >> 1n
  }
  return digits
}

/** The sum of two points; the formula is complete for this curve. */
export function add(left: EdwardsPoint, right: EdwardsPoint): EdwardsPoint {
  const a = mod((left.y - left.x) * (right.y - right.x))
  const b = mod((left.y + left.x) * (right.y + right.x))
  const c = mod(mod(2n * left.t * right.t) * D)
  const d = mod(2n * left.z * right.z)
  const [e, f, g, h] = [b - a, d - c, d + c, b + a]
  return { x: mod(e * f), y: mod(g * h), z: mod(f * g), t: mod(e * h) }
}

function double(point: EdwardsPoint): EdwardsPoint {
  const a = mod(point.x * point.x)
  const b = mod(point.y * point.y)
  const h = a + b
  const sum = point.x + point.y
  const e = h - mod(sum * sum)
  const g = a - b
  const f = mod(2n * point.z * point.z) + g
  return { x: mod(e * f), y: mod(g * h), z: mod(f * g), t: mod(e * h) }
}

function isIdentity(point: EdwardsPoint): boolean {
  return point.x === 0n && point.y === point.z
}

function fromAffine(x: bigint, y: bigint): EdwardsPoint {
  return { x, y, z: 1n, t: mod(x * y) }
}

function squareRootOfRatio(u: bigint, v: bigint): bigint | undefined {
  const v3 = mod(mod(v * v) * v)
  const v7 = mod(mod(v3 * v3) * v)
  const root = mod(mod(u * v3) * modPow(mod(u * v7), (P - 5n) / 8n, P))
  const check = mod(v * mod(root * root))
  if (check === u) return root
  return check === mod(-u) ? mod(root * ROOT) : undefined
}

function mod(value: bigint): bigint {
  const rest = value % P
  return rest < 0n ? rest + P : rest
}
