import { isTrivialKey } from '../blocklists/trivial-keys.ts'
import { base64url } from '../encoding/bytes.ts'
import { encodeSpki } from '../encoding/der-writer.ts'
import { sha256Hex } from '../encoding/jwk.ts'
import { fault } from '../fault.ts'
import type { Examination, ParsedKey } from '../parsed-key.ts'
import type { Fault } from '../types.ts'
import { type MlDsa, mlDsaSets } from './ml-dsa-sets.ts'

const Q = 8_380_417
const RHO_BYTES = 32
const ROW_BYTES = 320
/** Honest keys have 6 to 16 near-zero coefficients in a row on average, and never above 30. */
const MAX_SMALL_IN_ROW = 64

/** Examines an ML-DSA key (RFC 9881): parameters and key as they stand in the SPKI. */
export function examineMlDsa(set: MlDsa, parameters: Uint8Array, bytes: Uint8Array): Examination {
  if (parameters.length > 0) {
    const detail = `An ${set.name} key has no parameters (RFC 9881), but this one has. Export it again: openssl pkey -pubin -pubout`
    return { faults: [fault('spki_params_invalid', detail)] }
  }
  if (bytes.length !== set.length) {
    const other = mlDsaSets.find(({ length }) => length === bytes.length)
    const hint =
      other === undefined ? 'It is cut off or damaged' : `That is the length of ${other.name}`
    const detail = `The ${set.name} key has ${bytes.length} bytes; ${set.length} are wanted. ${hint}: export it again, from the private key.`
    return { faults: [fault('akp_length_invalid', detail)] }
  }
  return { key: parsedMlDsaKey(set, bytes), faults: checkRows(set, bytes) }
}

function checkRows(set: MlDsa, bytes: Uint8Array): Fault[] {
  const renew = `Make a new pair: openssl genpkey -algorithm ${set.name} -out key.pem`
  const rows = (set.length - RHO_BYTES) / ROW_BYTES
  for (let row = 0; row < rows; row += 1) {
    const start = RHO_BYTES + row * ROW_BYTES
    const small = countSmall(bytes.subarray(start, start + ROW_BYTES), set.gamma2)
    if (small > MAX_SMALL_IN_ROW) {
      const detail = `Anyone could sign with this key: ${small} of 256 coefficients in row ${row + 1} are near zero, at most ${MAX_SMALL_IN_ROW} are in an honest key. ${renew}`
      return [fault('akp_degenerate', detail)]
    }
  }
  if (!isTrivialKey(sha256Hex(bytes))) return []
  const detail = `The private key of this public key can be guessed. ${renew}`
  return [fault('akp_private_key_trivial', detail)]
}

/**
 * How many of a row's 256 coefficients of t1 * 2^13 mod q are below gamma2: those need no hint, so
 * where most are, the verification equation (FIPS 204 algorithm 8) holds without a private key.
 */
function countSmall(row: Uint8Array, gamma2: number): number {
  let count = 0
  let buffer = 0
  let bits = 0
  for (const byte of row) {
    buffer |= byte << bits
    bits += 8
    if (bits < 10) continue
    const shifted = (buffer & 0x3ff) * 2 ** 13
    buffer >>= 10
    bits -= 10
    if (Math.min(shifted, Q - shifted) < gamma2) count += 1
  }
  return count
}

/** The forms of an ML-DSA public key: JWK (RFC 9964) and SPKI (RFC 9881). */
export function parsedMlDsaKey(set: MlDsa, bytes: Uint8Array): ParsedKey {
  return {
    name: set.name,
    jwk: { kty: 'AKP', alg: set.name, pub: base64url(bytes) },
    spki: encodeSpki(set.oid, new Uint8Array(), bytes),
    material: bytes,
    algorithms: [set.name],
    platformType: set.name.toLowerCase(),
  }
}
