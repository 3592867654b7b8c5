import { fittingAlgorithms } from '../algorithms.ts'
import { isTrivialKey } from '../blocklists/trivial-keys.ts'
import { base64url } from '../encoding/bytes.ts'
import { encodeSpki } from '../encoding/der-writer.ts'
import { sha256Hex } from '../encoding/jwk.ts'
import { oid } from '../encoding/oids.ts'
import { fault } from '../fault.ts'
import type { Examination, ParsedKey } from '../parsed-key.ts'
import type { Fault } from '../types.ts'
import { decodePoint, hasSmallOrder, isInPrimeGroup } from './edwards.ts'

const LENGTH = 32
const renew = 'Make a new pair: openssl genpkey -algorithm ed25519 -out key.pem'

/** Examines an Ed25519 key (RFC 8410): parameters and key as they stand in the SPKI. */
export function examineEd25519(parameters: Uint8Array, bytes: Uint8Array): Examination {
  if (parameters.length > 0) {
    const detail =
      'An Ed25519 key has no parameters (RFC 8410 section 3), but this one has. Export it again: openssl pkey -pubin -pubout'
    return { faults: [fault('spki_params_invalid', detail)] }
  }
  if (bytes.length !== LENGTH) {
    const detail = `The Ed25519 key has ${bytes.length} bytes; ${LENGTH} are wanted. It is cut off or wrapped once more: copy it again, from its file.`
    return { faults: [fault('okp_length_invalid', detail)] }
  }
  return { key: parsedEd25519Key(bytes), faults: checkPoint(bytes) }
}

function checkPoint(bytes: Uint8Array): Fault[] {
  const point = decodePoint(bytes)
  if (point === 'not_canonical') {
    const detail = `The Ed25519 key is not written in its one form (RFC 8032 section 5.1.3); verifiers would differ about it. ${renew}`
    return [fault('okp_point_not_canonical', detail)]
  }
  if (point === 'not_on_curve') {
    const detail =
      'The Ed25519 key is not a point on the curve: it is damaged. Copy it again, from its file.'
    return [fault('okp_point_invalid', detail)]
  }
  if (hasSmallOrder(point)) {
    const detail = `No private key exists for this point; anyone could sign. ${renew}`
    return [fault('okp_point_small_order', detail)]
  }
  if (!isInPrimeGroup(point)) {
    const detail = `The Ed25519 key is outside the group of honest keys, and verifiers would differ about its signatures. ${renew}`
    return [fault('okp_point_mixed_order', detail)]
  }
  if (isTrivialKey(sha256Hex(bytes))) {
    return [
      fault(
        'okp_private_key_trivial',
        `The private key of this public key can be guessed. ${renew}`,
      ),
    ]
  }
  return []
}

/** The forms of an Ed25519 public key: JWK (RFC 8037 section 2) and SPKI (RFC 8410). */
export function parsedEd25519Key(bytes: Uint8Array): ParsedKey {
  return {
    name: 'Ed25519',
    jwk: { kty: 'OKP', crv: 'Ed25519', x: base64url(bytes) },
    crv: 'Ed25519',
    spki: encodeSpki(oid.ed25519, new Uint8Array(), bytes),
    material: bytes,
    algorithms: [...fittingAlgorithms.Ed25519],
    platformType: 'ed25519',
  }
}
