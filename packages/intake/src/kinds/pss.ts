import { type Algorithm, matchingAlgorithms } from '../algorithms.ts'
import { commands } from '../commands.ts'
import { equalBytes, minimalBytes, toSignedBigInt } from '../encoding/bytes.ts'
import {
  expectElement,
  expectEnd,
  expectInteger,
  expectOid,
  readElement,
  tag,
} from '../encoding/der.ts'
import { derNull, encode, encodeInteger, encodeOid } from '../encoding/der-writer.ts'
import { oid } from '../encoding/oids.ts'
import type { Fault } from '../types.ts'

interface PssReading {
  /** The PS* algorithms that the parameters allow, the default one first. */
  algorithms: Algorithm[]
  /** The parameters in DER without default values; empty if the key has none. */
  parameters: Uint8Array
  faults: Fault[]
}

/** Hashes of JWS, with the length of their output in bytes. */
const hashes = [
  { oid: oid.sha256, algorithm: 'PS256', length: 32 },
  { oid: oid.sha384, algorithm: 'PS384', length: 48 },
  { oid: oid.sha512, algorithm: 'PS512', length: 64 },
] as const

type PssHash = (typeof hashes)[number]

const sha1 = '1.3.14.3.2.26'
const defaultSaltLength = 20n

interface PssFields {
  hash: string
  mask: string
  maskHash: string
  saltLength: bigint
  trailer: bigint
}

/**
 * Reads RSASSA-PSS-params (RFC 4055 section 3.1), which restrict the use of a key; without them it
 * may use every PS*. The salt length is a minimum: signatures of JWS have a salt as long as the hash
 * (RFC 7518 section 3.5). Throws a DerError for invalid DER.
 */
export function readPss(parameters: Uint8Array): PssReading {
  if (parameters.length === 0) {
    return { algorithms: [...matchingAlgorithms.rsaPss], parameters, faults: [] }
  }
  const sequence = readElement(parameters, 'the PSS parameters')
  if (sequence.tag !== tag.sequence || sequence.rest.length > 0) {
    const detail = `The parameters of the RSA-PSS key are not one SEQUENCE (RFC 4055 section 3.1). Export the key again: ${commands.exportPublic}`
    return { algorithms: [], parameters, faults: [{ code: 'spki_params_invalid', detail }] }
  }
  const fields = readFields(sequence.content)
  const hash = hashes.find((known) => known.oid === fields.hash)
  const problem = describeProblem(fields, hash)
  if (hash === undefined || problem !== undefined) {
    const detail = `The parameters of the RSA-PSS key ${problem}, so no PS256, PS384 or PS512 token would verify. Generate a new key without restrictions: ${commands.generateRsa}`
    return { algorithms: [], parameters, faults: [{ code: 'rsa_pss_params_unusable', detail }] }
  }
  const canonical = encodePss(hash, fields.saltLength)
  return { algorithms: [hash.algorithm], parameters: canonical, faults: [] }
}

function describeProblem(fields: PssFields, hash: PssHash | undefined): string | undefined {
  if (hash === undefined) {
    const name = fields.hash === sha1 ? 'SHA-1 (which is also the default)' : 'an unsupported hash'
    return `name ${name} instead of SHA-256, SHA-384 or SHA-512`
  }
  if (fields.mask !== oid.mgf1) return 'name a mask generation function other than MGF1'
  if (fields.maskHash !== hash.oid) return 'name a different hash for MGF1 than for the message'
  if (fields.saltLength < 0n) return 'have a negative salt length'
  if (fields.saltLength > BigInt(hash.length)) {
    const shown = fields.saltLength < 1_000_000n ? fields.saltLength : 'more than a million'
    return `require a salt of ${shown} bytes, but ${hash.algorithm} has ${hash.length}`
  }
  return fields.trailer === 1n ? undefined : 'name a trailer other than 1'
}

function readFields(content: Uint8Array): PssFields {
  const fields: PssFields = {
    hash: sha1,
    mask: oid.mgf1,
    maskHash: sha1,
    saltLength: defaultSaltLength,
    trailer: 1n,
  }
  const hash = readOptional(content, 0)
  if (hash.value !== undefined) fields.hash = readHash(hash.value)
  const mask = readOptional(hash.rest, 1)
  if (mask.value !== undefined) Object.assign(fields, readMask(mask.value))
  const salt = readOptional(mask.rest, 2)
  if (salt.value !== undefined) fields.saltLength = readNumber(salt.value, 'the salt length')
  const trailer = readOptional(salt.rest, 3)
  if (trailer.value !== undefined) fields.trailer = readNumber(trailer.value, 'the trailer field')
  expectEnd(trailer.rest, 'the PSS parameters')
  return fields
}

/** Reads the field with a context-specific tag, if it is present. */
function readOptional(
  content: Uint8Array,
  number: number,
): { value?: Uint8Array; rest: Uint8Array } {
  if (content[0] !== (0xa0 | number)) return { rest: content }
  const field = readElement(content, `PSS parameter ${number}`)
  return { value: field.content, rest: field.rest }
}

function readNumber(bytes: Uint8Array, part: string): bigint {
  const { content, rest } = expectInteger(bytes, part)
  expectEnd(rest, part)
  return toSignedBigInt(content)
}

/** A hash algorithm; NULL and absent parameters must both be accepted (RFC 4055 section 2.1). */
function readHash(bytes: Uint8Array): string {
  const name = readAlgorithm(bytes, 'the hash of the PSS parameters')
  const isPlain = name.rest.length === 0 || equalBytes(name.rest, derNull)
  return isPlain ? name.oid : ''
}

function readMask(bytes: Uint8Array): { mask: string; maskHash: string } {
  const name = readAlgorithm(bytes, 'the mask of the PSS parameters')
  return { mask: name.oid, maskHash: name.oid === oid.mgf1 ? readHash(name.rest) : '' }
}

/** An AlgorithmIdentifier: its object identifier, and the parameters as `rest`. */
function readAlgorithm(bytes: Uint8Array, part: string): { oid: string; rest: Uint8Array } {
  const sequence = expectElement(bytes, tag.sequence, part)
  expectEnd(sequence.rest, part)
  return expectOid(sequence.content, `the object identifier of ${part}`)
}

function encodePss(hash: PssHash, saltLength: bigint): Uint8Array {
  const hashAlgorithm = encode(tag.sequence, encodeOid(hash.oid), derNull)
  const mask = encode(tag.sequence, encodeOid(oid.mgf1), hashAlgorithm)
  const fields = [encode(0xa0, hashAlgorithm), encode(0xa1, mask)]
  if (saltLength !== defaultSaltLength) {
    fields.push(encode(0xa2, encodeInteger(minimalBytes(saltLength))))
  }
  return encode(tag.sequence, ...fields)
}
