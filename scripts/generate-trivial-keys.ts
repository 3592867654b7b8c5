/**
 * Writes `src/intake/blocklists/trivial-keys.bin`: records of the public keys whose private key stands in
 * a short list that anybody would try first.
 *
 *   node scripts/generate-trivial-keys.ts
 *
 * A record is the first 8 bytes of SHA-256 over the minimal bytes of x (EC) or the raw bytes of
 * the key (Ed25519, ML-DSA); the records are sorted.
 */
import { createECDH, createHash, createPrivateKey, createPublicKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { fixedBytes, minimalBytes, toBigInt } from '../src/intake/encoding/bytes.ts'
import { encode, encodeInteger, tag } from '../src/intake/encoding/der.ts'
import { encodeOid } from '../src/intake/encoding/der-writer.ts'
import { oid } from '../src/intake/encoding/oids.ts'
import { type Curve, p256, p384, p521, secp256k1 } from '../src/intake/kinds/curves.ts'
import { add, basePoint, encodePoint } from '../src/intake/kinds/edwards.ts'
import { mlDsaSets } from '../src/intake/kinds/ml-dsa-sets.ts'

const RECORD_BYTES = 8
const MULTIPLES = 1024
const target = new URL('../src/intake/blocklists/trivial-keys.bin', import.meta.url)

const platformCurves: readonly { curve: Curve; name: string }[] = [
  { curve: p256, name: 'prime256v1' },
  { curve: p384, name: 'secp384r1' },
  { curve: p521, name: 'secp521r1' },
  { curve: secp256k1, name: 'secp256k1' },
]

/** Strings of bytes that stand for secrets: one repeated byte, and counting up from 0 or 1. */
function* patterns(length: number): Generator<Uint8Array> {
  for (let byte = 0; byte < 256; byte += 1) yield new Uint8Array(length).fill(byte)
  for (const first of [0, 1]) yield Uint8Array.from({ length }, (_, index) => first + index)
}

/** Scalars to try on a curve; the negative of each has the same x and is covered. */
export function* trivialScalars(curve: Curve): Generator<bigint> {
  for (let scalar = 1n; scalar <= MULTIPLES; scalar += 1n) yield scalar
  for (const length of new Set([curve.size, 32, curve.size - 1])) {
    for (const bytes of patterns(length)) {
      const scalar = toBigInt(bytes) % curve.n
      if (scalar > 0n) yield scalar
    }
  }
}

/** The minimal bytes of x of the public keys of trivial scalars. */
export function* trivialEcMaterials(): Generator<Uint8Array> {
  for (const { curve, name } of platformCurves) {
    const pair = createECDH(name)
    for (const scalar of trivialScalars(curve)) {
      pair.setPrivateKey(Buffer.from(fixedBytes(scalar, curve.size)))
      yield minimalBytes(toBigInt(pair.getPublicKey().subarray(1, 1 + curve.size)))
    }
  }
}

/** The Ed25519 public keys of trivial seeds, and the small multiples of the base point. */
export function* trivialEd25519Materials(): Generator<Uint8Array> {
  for (const seed of trivialEd25519Seeds()) {
    yield publicHalf(oid.ed25519, encode(tag.octetString, seed)).subarray(-32)
  }
  let point = basePoint
  for (let multiple = 1; multiple <= MULTIPLES; multiple += 1) {
    const bytes = encodePoint(point)
    yield bytes
    yield Uint8Array.from(bytes, (byte, index) => (index === 31 ? byte ^ 0x80 : byte))
    point = add(point, basePoint)
  }
}

/** Patterns, and seeds whose one non-zero byte is the first or the last. */
export function* trivialEd25519Seeds(): Generator<Uint8Array> {
  yield* patterns(32)
  for (let byte = 1; byte < 256; byte += 1) {
    for (const place of [0, 31]) {
      yield Uint8Array.from({ length: 32 }, (_, index) => (index === place ? byte : 0))
    }
  }
}

/** The ML-DSA public keys of trivial seeds, for every parameter set. */
export function* trivialMlDsaMaterials(): Generator<Uint8Array> {
  for (const set of mlDsaSets) {
    for (const seed of patterns(32)) {
      yield publicHalf(set.oid, encode(0x80, seed)).subarray(-set.length)
    }
  }
}

function publicHalf(dotted: string, key: Uint8Array): Uint8Array {
  const algorithm = encode(tag.sequence, encodeOid(dotted))
  const version = encodeInteger(new Uint8Array())
  const der = encode(tag.sequence, version, algorithm, encode(tag.octetString, key))
  const pair = createPrivateKey({ key: Buffer.from(der), format: 'der', type: 'pkcs8' })
  return createPublicKey(pair).export({ type: 'spki', format: 'der' })
}

export function recordOf(material: Uint8Array): string {
  return createHash('sha256')
    .update(material)
    .digest('hex')
    .slice(0, 2 * RECORD_BYTES)
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
