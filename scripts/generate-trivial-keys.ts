/**
 * Writes `packages/intake/src/blocklists/trivial-keys.bin`: sorted records of the public keys whose private
 * key is in a short list that an attacker tries first.
 *
 *   node scripts/generate-trivial-keys.ts
 *
 * A record is the first 8 bytes of SHA-256 of the shortest bytes of x (EC) or of the raw key
 * (Ed25519, ML-DSA).
 */
import { createECDH, createPrivateKey, createPublicKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { modPow } from '../packages/intake/src/arithmetic.ts'
import { fixedBytes, minimalBytes, toBigInt } from '../packages/intake/src/encoding/bytes.ts'
import { tag } from '../packages/intake/src/encoding/der.ts'
import { encode, encodePkcs8 } from '../packages/intake/src/encoding/der-writer.ts'
import { sha256Hex } from '../packages/intake/src/encoding/jwk.ts'
import { oid } from '../packages/intake/src/encoding/oids.ts'
import { joseCurves, secp256k1 } from '../packages/intake/src/kinds/curves.ts'
import { add, type EdwardsPoint } from '../packages/intake/src/kinds/edwards.ts'
import { mlDsaSets } from '../packages/intake/src/kinds/ml-dsa.ts'

const recordLength = 8
const maxMultiple = 1024
const target = new URL('../packages/intake/src/blocklists/trivial-keys.bin', import.meta.url)

/** Secrets of one repeated byte, and of bytes that count from 0 or 1. */
function* patterns(length: number): Generator<Uint8Array> {
  for (let byte = 0; byte < 256; byte += 1) yield new Uint8Array(length).fill(byte)
  for (const first of [0, 1]) yield Uint8Array.from({ length }, (_, index) => first + index)
}

/** The trivial scalars of a curve; the negative of each has the same x and is covered. */
function* trivialScalars(curve: { n: bigint; size: number }): Generator<bigint> {
  for (let scalar = 1n; scalar <= maxMultiple; scalar += 1n) yield scalar
  for (const length of new Set([curve.size, 32, curve.size - 1])) {
    for (const bytes of patterns(length)) {
      const scalar = toBigInt(bytes) % curve.n
      if (scalar > 0n) yield scalar
    }
  }
}

/** The shortest bytes of x of the public keys of trivial scalars. */
export function* trivialEcMaterials(): Generator<Uint8Array> {
  for (const curve of [...joseCurves, secp256k1]) {
    const pair = createECDH(curve.platformName)
    for (const scalar of trivialScalars(curve)) {
      pair.setPrivateKey(Buffer.from(fixedBytes(scalar, curve.size)))
      yield minimalBytes(toBigInt(pair.getPublicKey().subarray(1, 1 + curve.size)))
    }
  }
}

/** The Ed25519 public keys of trivial seeds, and small multiples of the base point. */
export function* trivialEd25519Materials(): Generator<Uint8Array> {
  for (const seed of trivialEd25519Seeds()) {
    yield publicSpki(oid.ed25519, encode(tag.octetString, seed)).subarray(-32)
  }
  let point = basePoint
  for (let multiple = 1; multiple <= maxMultiple; multiple += 1) {
    const bytes = encodePoint(point)
    yield bytes
    yield Uint8Array.from(bytes, (byte, index) => (index === 31 ? byte ^ 0x80 : byte))
    point = add(point, basePoint)
  }
}

const prime = 2n ** 255n - 19n
/** The base point of Edwards25519 (RFC 8032 section 5.1). */
const [x, y] = [
  15112221349535400772501151409588531511454012693041857206046113283949847762202n,
  46316835694926478169428394003475163141307993866256225615783033603165251855960n,
]
export const basePoint: EdwardsPoint = { x, y, z: 1n, t: (x * y) % prime }

/** Encodes a point (RFC 8032 section 5.1.2). */
export function encodePoint(point: EdwardsPoint): Uint8Array {
  const inverse = modPow(point.z, prime - 2n, prime)
  const affineX = (point.x * inverse) % prime
  const affineY = (point.y * inverse) % prime
  return fixedBytes(affineY | ((affineX & 1n) << 255n), 32).reverse()
}

/** Patterns, and seeds with a single non-zero byte at either end. */
function* trivialEd25519Seeds(): Generator<Uint8Array> {
  yield* patterns(32)
  for (let byte = 1; byte < 256; byte += 1) {
    for (const place of [0, 31]) {
      yield Uint8Array.from({ length: 32 }, (_, index) => (index === place ? byte : 0))
    }
  }
}

/** The ML-DSA public keys of trivial seeds. */
export function* trivialMlDsaMaterials(): Generator<Uint8Array> {
  for (const set of mlDsaSets) {
    for (const seed of patterns(32)) {
      yield publicSpki(set.oid, encode(0x80, seed)).subarray(-set.length)
    }
  }
}

function publicSpki(dotted: string, privateKey: Uint8Array): Uint8Array {
  const key = Buffer.from(encodePkcs8(dotted, privateKey))
  const pair = createPrivateKey({ key, format: 'der', type: 'pkcs8' })
  return createPublicKey(pair).export({ type: 'spki', format: 'der' })
}

export function recordOf(material: Uint8Array): string {
  return sha256Hex(material).slice(0, 2 * recordLength)
}

function writeTable(): void {
  const records = new Set<string>()
  for (const materials of [
    trivialEcMaterials(),
    trivialEd25519Materials(),
    trivialMlDsaMaterials(),
  ]) {
    for (const material of materials) records.add(recordOf(material))
  }
  writeFileSync(target, Buffer.from([...records].sort().join(''), 'hex'))
  process.stderr.write(`${records.size} records\n`)
}

if (import.meta.main) writeTable()
