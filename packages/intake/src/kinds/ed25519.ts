import { matchingAlgorithms } from '../algorithms.ts'
import { isTrivialKey } from '../blocklists/trivial-keys.ts'
import { commands } from '../commands.ts'
import { base64url } from '../encoding/bytes.ts'
import { encodeSpki } from '../encoding/der-writer.ts'
import { sha256Hex } from '../encoding/jwk.ts'
import { oid } from '../encoding/oids.ts'
import type { Examination, ParsedKey } from '../parsed-key.ts'
import type { Fault } from '../types.ts'
import { decodePoint, hasSmallOrder, isInPrimeGroup } from './edwards.ts'

const keyLength = 32
const copyAgain = 'Copy the key from its file again.'
const generateNew = `Generate a new key pair: ${commands.generateEd25519}`

/** Examines an Ed25519 key (RFC 8410): parameters and key of its SPKI. */
export function examineEd25519(parameters: Uint8Array, bytes: Uint8Array): Examination {
  if (parameters.length > 0) {
    const detail = `An Ed25519 key must not have parameters (RFC 8410 section 3). Export it again: ${commands.exportPublic}`
    return { faults: [{ code: 'spki_params_invalid', detail }] }
  }
  if (bytes.length !== keyLength) {
    const detail = `The Ed25519 key has ${bytes.length} bytes instead of ${keyLength}. ${copyAgain}`
    return { faults: [{ code: 'okp_length_invalid', detail }] }
  }
  const fault = checkPoint(bytes)
  return { key: parsedEd25519Key(bytes), faults: fault === undefined ? [] : [fault] }
}

function checkPoint(bytes: Uint8Array): Fault | undefined {
  const point = decodePoint(bytes)
  if (point === 'not_canonical') {
    const detail = `The Ed25519 key is not in its canonical form (RFC 8032 section 5.1.3), so verifiers differ in whether they accept it. ${generateNew}`
    return { code: 'okp_point_not_canonical', detail }
  }
  if (point === 'not_on_curve') {
    const detail = `The Ed25519 key is not a point on the curve: it is damaged. ${copyAgain}`
    return { code: 'okp_point_invalid', detail }
  }
  if (hasSmallOrder(point)) {
    const detail = `The Ed25519 key is a point of small order: it has no private key, and anyone can forge signatures. ${generateNew}`
    return { code: 'okp_point_small_order', detail }
  }
  if (!isInPrimeGroup(point)) {
    const detail = `The Ed25519 key is not a multiple of the base point, so verifiers disagree about its signatures. ${generateNew}`
    return { code: 'okp_point_mixed_order', detail }
  }
  if (!isTrivialKey(sha256Hex(bytes))) return undefined
  const detail = `The private key of this public key can be guessed. ${generateNew}`
  return { code: 'okp_private_key_trivial', detail }
}

/** An Ed25519 key as JWK (RFC 8037 section 2) and as SPKI (RFC 8410). */
export function parsedEd25519Key(bytes: Uint8Array): ParsedKey {
  return {
    name: 'Ed25519',
    jwk: { kty: 'OKP', crv: 'Ed25519', x: base64url(bytes) },
    crv: 'Ed25519',
    spki: encodeSpki(oid.ed25519, new Uint8Array(), bytes),
    material: bytes,
    algorithms: [...matchingAlgorithms.Ed25519],
    platformType: 'ed25519',
  }
}
