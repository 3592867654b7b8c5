import { matchingAlgorithms } from '../algorithms.ts'
import { isTrivialKey } from '../blocklists/trivial-keys.ts'
import { commands } from '../commands.ts'
import { base64url, minimalBytes, toBigInt } from '../encoding/bytes.ts'
import { expectOid, readElement, tag } from '../encoding/der.ts'
import { encodeOid, encodeSpki } from '../encoding/der-writer.ts'
import { sha256Hex } from '../encoding/jwk.ts'
import { nameOfCurve, oid } from '../encoding/oids.ts'
import type { Examination, ParsedKey } from '../parsed-key.ts'
import type { Fault } from '../types.ts'
import { decodePoint, type JoseCurve, joseCurves, secp256k1 } from './curves.ts'

/** Examines an EC key (RFC 5480): parameters and point of its SPKI. */
export function examineEc(parameters: Uint8Array, point: Uint8Array): Examination {
  if (parameters.length === 0) return invalidParameters('The EC key names no curve.')
  const element = readElement(parameters, 'the curve of the EC key')
  if (element.tag === tag.null || element.tag === tag.sequence) {
    const detail = `The EC key has explicit parameters instead of a named curve. Export it again: ${commands.exportNamedCurve}`
    return { faults: [{ code: 'ec_explicit_parameters', detail }] }
  }
  if (element.tag !== tag.oid) {
    return invalidParameters('The parameters of the EC key are not a named curve.')
  }
  const name = expectOid(parameters, 'the curve of the EC key')
  if (name.rest.length > 0) {
    return invalidParameters('The parameters of the EC key continue after the named curve.')
  }
  const curve = joseCurves.find((known) => known.oid === name.oid)
  if (curve === undefined) return { faults: unsupportedCurve(name.oid, point) }
  return examinePoint(curve, point)
}

function invalidParameters(finding: string): Examination {
  const detail = `${finding} Export it again: ${commands.exportPublic}`
  return { faults: [{ code: 'spki_params_invalid', detail }] }
}

function unsupportedCurve(dotted: string, point: Uint8Array): Fault[] {
  const detail = `The curve ${nameOfCurve(dotted)} is not supported; P-256, P-384 and P-521 are. Generate a new key: ${commands.generateEc}`
  const fault: Fault = { code: 'ec_curve_unsupported', detail }
  if (dotted !== secp256k1.oid) return [fault]
  const x = toBigInt(point.subarray(1, 1 + secp256k1.size))
  return [...checkTrivial(minimalBytes(x)), fault]
}

function examinePoint(curve: JoseCurve, point: Uint8Array): Examination {
  const { size, name } = curve
  const [format] = point
  if (format === undefined) return invalidPoint('The point of the EC key is missing.')
  if (format === 0x00) return invalidPoint('The point of the EC key is the point at infinity.')
  if (format > 0x04) {
    const shown = format.toString(16).padStart(2, '0')
    const isHybrid = format === 0x06 || format === 0x07
    const remedy = isHybrid
      ? `Convert it to 04: ${commands.decodePem('key.pem')} | ${commands.uncompressPoint}`
      : `Export the key again: ${commands.exportPublic}`
    const detail = `The point has the unsupported format ${shown}. ${remedy}`
    return { faults: [{ code: 'ec_point_format_unsupported', detail }] }
  }
  const isCompressed = format !== 0x04
  const length = isCompressed ? 1 + size : 1 + 2 * size
  if (point.length !== length) {
    return invalidPoint(`The point has ${point.length} bytes instead of ${length} for ${name}.`)
  }
  const decoded = decodePoint(curve, point)
  if (decoded === undefined) {
    const invalid = invalidPoint(`The point is not on the curve ${name}.`)
    return isCompressed ? invalid : { ...invalid, key: parsedEcKey(curve, point) }
  }
  const key = parsedEcKey(curve, decoded)
  return {
    key,
    faults: checkTrivial(key.material),
    ...(isCompressed && { repairs: ['compressed_point'] }),
  }
}

function invalidPoint(finding: string): Examination {
  const detail = `${finding} The key is damaged: copy it from its file again.`
  return { faults: [{ code: 'ec_point_invalid', detail }] }
}

function checkTrivial(material: Uint8Array): Fault[] {
  if (!isTrivialKey(sha256Hex(material))) return []
  const detail = `The private key of this public key can be guessed. Generate a new key pair with a working random number generator: ${commands.generateEc}`
  return [{ code: 'ec_private_key_trivial', detail }]
}

/**
 * An EC key with an uncompressed point as JWK with full-length coordinates (RFC 7518 section 6.2.1) and
 * as SPKI.
 */
export function parsedEcKey(curve: JoseCurve, point: Uint8Array): ParsedKey {
  const x = point.subarray(1, 1 + curve.size)
  const y = point.subarray(1 + curve.size)
  return {
    name: `EC ${curve.name}`,
    jwk: { kty: 'EC', crv: curve.name, x: base64url(x), y: base64url(y) },
    crv: curve.name,
    spki: encodeSpki(oid.ecPublicKey, encodeOid(curve.oid), point),
    material: minimalBytes(toBigInt(x)),
    algorithms: [...matchingAlgorithms[curve.name]],
    platformType: 'ec',
  }
}
