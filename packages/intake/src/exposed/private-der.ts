import { toBigInt } from '../encoding/bytes.ts'
import {
  DerError,
  expectElement,
  expectInteger,
  expectOid,
  readElement,
  tag,
} from '../encoding/der.ts'
import { oid } from '../encoding/oids.ts'

/** The numbers of a submitted private key, not yet checked against each other. */
export type PrivateKeyNumbers =
  | { kind: 'rsa'; n: bigint; e: bigint; factors: bigint[]; exponent?: bigint }
  | { kind: 'ec'; curve: string; scalar: bigint }
  | { kind: 'seeded'; oid: string; secret: Uint8Array; form: 'seed' | 'expanded' }

/** Reads a private key structure in strict DER and ignores bytes after it. Undefined if invalid. */
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
  const version = expectInteger(outer.content, 'the version')
  const second = readElement(version.rest, 'the second element')
  if (second.tag === tag.integer) return readPkcs1(version.rest)
  if (second.tag === tag.octetString) return readSec1(bytes)
  if (second.tag !== tag.sequence) return undefined
  const algorithm = expectOid(second.content, 'the algorithm')
  const key = expectElement(second.rest, tag.octetString, 'the key').content
  return readPkcs8(algorithm.oid, algorithm.rest, key)
}

function readPkcs8(dotted: string, parameters: Uint8Array, key: Uint8Array) {
  if (dotted.startsWith('1.2.840.113549.1.1.')) {
    const inner = expectElement(key, tag.sequence, 'the RSA private key')
    return readPkcs1(expectInteger(inner.content, 'the version').rest)
  }
  if (dotted === oid.ecPublicKey) return readSec1(key, expectOid(parameters, 'the curve').oid)
  return readSeeded(dotted, key)
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

/** ECPrivateKey (RFC 5915). In PKCS#8, the algorithm names the curve. */
function readSec1(bytes: Uint8Array, algorithmCurve?: string): PrivateKeyNumbers | undefined {
  const outer = expectElement(bytes, tag.sequence, 'the EC private key')
  const version = expectInteger(outer.content, 'the version')
  const scalar = expectElement(version.rest, tag.octetString, 'the scalar')
  const curve = algorithmCurve ?? readCurve(scalar.rest)
  return curve === undefined ? undefined : { kind: 'ec', curve, scalar: toBigInt(scalar.content) }
}

function readCurve(rest: Uint8Array): string | undefined {
  if (rest[0] !== 0xa0) return undefined
  return expectOid(readElement(rest, 'the curve').content, 'the curve').oid
}

/** Ed25519 (RFC 8410 section 7) and ML-DSA (RFC 9881 section 6): a seed, an expanded key, or both. */
function readSeeded(dotted: string, key: Uint8Array): PrivateKeyNumbers | undefined {
  const inner = readElement(key, 'the private key')
  if (![0x80, tag.octetString, tag.sequence].includes(inner.tag)) return undefined
  const { content: secret } =
    inner.tag === tag.sequence ? expectElement(inner.content, tag.octetString, 'the seed') : inner
  const isExpanded = inner.tag === tag.octetString && secret.length !== 32
  return { kind: 'seeded', oid: dotted, secret, form: isExpanded ? 'expanded' : 'seed' }
}
