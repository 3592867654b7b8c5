import { toBigInt } from '../encoding/bytes.ts'
import {
  DerError,
  expectElement,
  expectInteger,
  expectOid,
  readElement,
  tag,
} from '../encoding/der.ts'

/** The numbers of a private key as its structure states them, unproven. */
export type PrivateKeyNumbers =
  | { kind: 'rsa'; n: bigint; e: bigint; factors: bigint[]; exponent?: bigint }
  | { kind: 'ec'; curve: string; scalar: bigint }
  | { kind: 'seeded'; oid: string; secret: Uint8Array; form: 'seed' | 'expanded' }

/** The bytes of one private structure in strict DER; what follows it does not count. */
export function readPrivateDer(bytes: Uint8Array): PrivateKeyNumbers | undefined {
  try {
    return readPrivate(bytes)
  } catch (error) {
    if (error instanceof DerError) return undefined
    throw error
  }
}

function readPrivate(bytes: Uint8Array): PrivateKeyNumbers | undefined {
  const outer = expectElement(bytes, tag.sequence, 'the private key')
  const version = expectInteger(outer.content, 'its version')
  const second = readElement(version.rest, 'its second element')
  if (second.tag === tag.integer) return readPkcs1(version.rest)
  if (second.tag === tag.octetString) return readSec1(bytes, undefined)
  if (second.tag !== tag.sequence) return undefined
  const name = expectOid(second.content, 'its algorithm')
  const key = expectElement(second.rest, tag.octetString, 'its bytes').content
  return readPkcs8(name.oid, name.rest, key)
}

function readPkcs8(oid: string, parameters: Uint8Array, key: Uint8Array) {
  if (oid.startsWith('1.2.840.113549.1.1.')) {
    const inner = expectElement(key, tag.sequence, 'the RSA private key')
    return readPkcs1(expectInteger(inner.content, 'its version').rest)
  }
  if (oid === '1.2.840.10045.2.1') {
    return readSec1(key, expectOid(parameters, 'the curve').oid)
  }
  return readSeeded(oid, key)
}

/** RSAPrivateKey after its version (RFC 8017 A.1.2). */
function readPkcs1(bytes: Uint8Array): PrivateKeyNumbers {
  const numbers: bigint[] = []
  let rest = bytes
  while (numbers.length < 5) {
    const next = expectInteger(rest, 'a number of the RSA private key')
    numbers.push(toBigInt(next.content))
    rest = next.rest
  }
  const [n = 0n, e = 0n, , ...factors] = numbers
  return { kind: 'rsa', n, e, factors }
}

/** ECPrivateKey (RFC 5915), its curve in itself or given by the PKCS#8 around it. */
function readSec1(bytes: Uint8Array, given: string | undefined): PrivateKeyNumbers | undefined {
  const outer = expectElement(bytes, tag.sequence, 'the EC private key')
  const version = expectInteger(outer.content, 'its version')
  const scalar = expectElement(version.rest, tag.octetString, 'its scalar')
  const curve = given ?? readCurve(scalar.rest)
  return curve === undefined ? undefined : { kind: 'ec', curve, scalar: toBigInt(scalar.content) }
}

function readCurve(rest: Uint8Array): string | undefined {
  if (rest[0] !== 0xa0) return undefined
  return expectOid(readElement(rest, 'the curve').content, 'the curve').oid
}

/** Ed25519 (RFC 8410 section 7) and ML-DSA (RFC 9881 section 6): a seed, an expanded key, both. */
function readSeeded(oid: string, key: Uint8Array): PrivateKeyNumbers | undefined {
  const inner = readElement(key, 'the private key')
  if (inner.tag === 0x80) return { kind: 'seeded', oid, secret: inner.content, form: 'seed' }
  if (inner.tag === tag.sequence) {
    const seed = expectElement(inner.content, tag.octetString, 'the seed')
    return { kind: 'seeded', oid, secret: seed.content, form: 'seed' }
  }
  if (inner.tag !== tag.octetString) return undefined
  const form = inner.content.length === 32 ? 'seed' : 'expanded'
  return { kind: 'seeded', oid, secret: inner.content, form }
}
