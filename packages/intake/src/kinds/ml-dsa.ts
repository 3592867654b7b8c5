import { isTrivialKey } from '../blocklists/trivial-keys.ts'
import { commands } from '../commands.ts'
import { base64url } from '../encoding/bytes.ts'
import { encodeSpki } from '../encoding/der-writer.ts'
import { sha256Hex } from '../encoding/jwk.ts'
import { oid } from '../encoding/oids.ts'
import type { Examination, ParsedKey } from '../parsed-key.ts'
import type { Fault } from '../types.ts'

/** A parameter set of ML-DSA (FIPS 204 table 1). */
interface MlDsa {
  name: 'ML-DSA-44' | 'ML-DSA-65' | 'ML-DSA-87'
  oid: string
  /** Bytes of a public key: 32 for rho and 320 for each row of t1. */
  length: number
  /** Bytes of an expanded private key. */
  expandedLength: number
  /** The low-order rounding range. */
  gamma2: number
}

export const mlDsaSets: readonly MlDsa[] = [
  { name: 'ML-DSA-44', oid: oid.mlDsa44, length: 1312, expandedLength: 2560, gamma2: 95_232 },
  { name: 'ML-DSA-65', oid: oid.mlDsa65, length: 1952, expandedLength: 4032, gamma2: 261_888 },
  { name: 'ML-DSA-87', oid: oid.mlDsa87, length: 2592, expandedLength: 4896, gamma2: 261_888 },
]

/** The modulus q of ML-DSA. */
const modulus = 8_380_417
const rhoLength = 32
const rowLength = 320
/** Generated keys have 6 to 16 near-zero coefficients in a row on average, and at most 30. */
const maxSmallInRow = 64

/** Examines an ML-DSA key (RFC 9881): parameters and key of its SPKI. */
export function examineMlDsa(set: MlDsa, parameters: Uint8Array, bytes: Uint8Array): Examination {
  if (parameters.length > 0) {
    const detail = `An ${set.name} key must not have parameters (RFC 9881). Export it again: ${commands.exportPublicMlDsa}`
    return { faults: [{ code: 'spki_params_invalid', detail }] }
  }
  if (bytes.length !== set.length) {
    const other = mlDsaSets.find(({ length }) => length === bytes.length)
    const hint = other === undefined ? 'It is damaged' : `That is the length of ${other.name}`
    const detail = `The ${set.name} key has ${bytes.length} bytes instead of ${set.length}. ${hint}: export it again from the private key: ${commands.exportPublicMlDsa}`
    return { faults: [{ code: 'akp_length_invalid', detail }] }
  }
  return { key: parsedMlDsaKey(set, bytes), faults: checkRows(set, bytes) }
}

function checkRows(set: MlDsa, bytes: Uint8Array): Fault[] {
  const generateNew = `Generate a new key pair: ${commands.generateMlDsa(set.name)}`
  const rows = (set.length - rhoLength) / rowLength
  for (let row = 0; row < rows; row += 1) {
    const start = rhoLength + row * rowLength
    const small = countSmall(bytes.subarray(start, start + rowLength), set.gamma2)
    if (small > maxSmallInRow) {
      const detail = `Anyone can forge signatures for this key: ${small} of 256 coefficients in row ${row + 1} are near zero; at most ${maxSmallInRow} may be. ${generateNew}`
      return [{ code: 'akp_degenerate', detail }]
    }
  }
  if (!isTrivialKey(sha256Hex(bytes))) return []
  const detail = `The private key of this public key can be guessed. ${generateNew}`
  return [{ code: 'akp_private_key_trivial', detail }]
}

/**
 * Counts the coefficients of t1 * 2^13 mod q in a row of 256 that are below gamma2. They need no
 * hint: if most are, the verification equation (FIPS 204 algorithm 8) holds without a private key.
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
    if (Math.min(shifted, modulus - shifted) < gamma2) count += 1
  }
  return count
}

/** An ML-DSA key as JWK (RFC 9964) and as SPKI (RFC 9881). */
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
