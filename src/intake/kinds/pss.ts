import type { Algorithm } from '../../contract/algorithms.ts'
import { fittingAlgorithms } from '../algorithms.ts'
import { equalBytes, minimalBytes, toSignedBigInt } from '../encoding/bytes.ts'
import {
  encode,
  encodeInteger,
  expectElement,
  expectEnd,
  expectInteger,
  expectOid,
  readElement,
  tag,
} from '../encoding/der.ts'
import { encodeOid } from '../encoding/der-writer.ts'
import { oid } from '../encoding/oids.ts'
import { fault } from '../fault.ts'
import type { Fault } from '../types.ts'

export interface PssReading {
  /** The PS* that the parameters allow, the usual one first. */
  algorithms: Algorithm[]
  /** The parameters in DER with the defaults left out; empty where there are none. */
  parameters: Uint8Array
  faults: Fault[]
}

interface PssHash {
  oid: string
  algorithm: Algorithm
  bytes: number
}

const hashes: readonly PssHash[] = [
  { oid: oid.sha256, algorithm: 'PS256', bytes: 32 },
  { oid: oid.sha384, algorithm: 'PS384', bytes: 48 },
  { oid: oid.sha512, algorithm: 'PS512', bytes: 64 },
]

const SHA1 = '1.3.14.3.2.26'
const DEFAULT_SALT = 20n
const NULL = Uint8Array.of(tag.null, 0)
const advice =
  'Make a key without restrictions: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key.pem'

/**
 * Reads RSASSA-PSS-params (RFC 4055 section 3.1), which say what a key may be used for. Absent, they
 * allow every PS*. The salt length is the least that a signature must have, and a JWS one has as
 * many bytes as the hash (RFC 7518 section 3.5). Throws a DerError for damaged DER.
 */
export function readPss(parameters: Uint8Array): PssReading {
  if (parameters.length === 0) {
    return { algorithms: [...fittingAlgorithms.rsaPss], parameters, faults: [] }
  }
  const sequence = readElement(parameters, 'the PSS parameters')
  if (sequence.tag !== tag.sequence || sequence.rest.length > 0) {
    const detail =
      'The parameters of the RSA-PSS key are not one SEQUENCE (RFC 4055 section 3.1). Export the key again: openssl pkey -pubin -pubout'
    return { algorithms: [], parameters, faults: [fault('spki_params_invalid', detail)] }
  }
  const fields = readFields(sequence.content)
  const hash = hashes.find((known) => known.oid === fields.hash)
  const unusable = describeUnusable(fields, hash)
  if (hash === undefined || unusable !== undefined) {
    const detail = `The parameters of the RSA-PSS key ${unusable}, so no PS256, PS384 or PS512 token could verify. ${advice}`
    return { algorithms: [], parameters, faults: [fault('rsa_pss_params_unusable', detail)] }
  }
  return { algorithms: [hash.algorithm], parameters: encodePss(hash, fields.salt), faults: [] }
}

interface PssFields {
  hash: string
  mask: string
  maskHash: string
  salt: bigint
  trailer: bigint
}

function describeUnusable(fields: PssFields, hash: PssHash | undefined): string | undefined {
  if (hash === undefined) {
    const name = fields.hash === SHA1 ? 'SHA-1 (which is also the default)' : 'another hash'
    return `name ${name} where SHA-256, SHA-384 or SHA-512 is wanted`
  }
  if (fields.mask !== oid.mgf1) return 'name another mask generation function than MGF1'
  if (fields.maskHash !== hash.oid) return 'name another hash for MGF1 than for the message'
  if (fields.salt < 0n) return 'name a negative salt length'
  if (fields.salt > BigInt(hash.bytes)) {
    const shown = fields.salt < 1_000_000n ? `${fields.salt} bytes` : 'more than a million bytes'
    return `want a salt of ${shown} where ${hash.algorithm} has ${hash.bytes}`
  }
  return fields.trailer === 1n ? undefined : 'name another trailer than 1'
}

function readFields(content: Uint8Array): PssFields {
  const fields: PssFields = {
    hash: SHA1,
    mask: oid.mgf1,
    maskHash: SHA1,
    salt: DEFAULT_SALT,
    trailer: 1n,
  }
  const hash = optionalField(content, 0)
  if (hash.value !== undefined) fields.hash = readHash(hash.value)
  const mask = optionalField(hash.rest, 1)
  if (mask.value !== undefined) Object.assign(fields, readMask(mask.value))
  const salt = optionalField(mask.rest, 2)
  if (salt.value !== undefined) fields.salt = readNumber(salt.value, 'the salt length')
  const trailer = optionalField(salt.rest, 3)
  if (trailer.value !== undefined) fields.trailer = readNumber(trailer.value, 'the trailer field')
  expectEnd(trailer.rest, 'the PSS parameters')
  return fields
}

function optionalField(
  content: Uint8Array,
  number: number,
): { value?: Uint8Array; rest: Uint8Array } {
  if (content[0] !== (0xa0 | number)) return { rest: content }
  const field = readElement(content, `PSS parameter ${number}`)
  return { value: field.content, rest: field.rest }
}

function readNumber(bytes: Uint8Array, what: string): bigint {
  const { content, rest } = expectInteger(bytes, what)
  expectEnd(rest, what)
  return toSignedBigInt(content)
}

/** A hash algorithm, with NULL or absent parameters (RFC 4055 section 2.1 wants both taken). */
function readHash(bytes: Uint8Array): string {
  const sequence = expectElement(bytes, tag.sequence, 'the hash of the PSS parameters')
  expectEnd(sequence.rest, 'the hash of the PSS parameters')
  const name = expectOid(sequence.content, 'the name of the hash')
  const plain = name.rest.length === 0 || equalBytes(name.rest, NULL)
  return plain ? name.oid : ''
}

function readMask(bytes: Uint8Array): { mask: string; maskHash: string } {
  const sequence = expectElement(bytes, tag.sequence, 'the mask of the PSS parameters')
  expectEnd(sequence.rest, 'the mask of the PSS parameters')
  const name = expectOid(sequence.content, 'the name of the mask')
  if (name.oid !== oid.mgf1) return { mask: name.oid, maskHash: '' }
  return { mask: name.oid, maskHash: readHash(name.rest) }
}

function encodePss(hash: PssHash, salt: bigint): Uint8Array {
  const hashAlgorithm = encode(tag.sequence, encodeOid(hash.oid), NULL)
  const mask = encode(tag.sequence, encodeOid(oid.mgf1), hashAlgorithm)
  const saltField = encode(0xa2, encodeInteger(minimalBytes(salt)))
  return encode(
    tag.sequence,
    encode(0xa0, hashAlgorithm),
    encode(0xa1, mask),
    salt === DEFAULT_SALT ? new Uint8Array() : saltField,
  )
}
