import { fittingAlgorithms } from '../algorithms.ts'
import { isTrivialKey } from '../blocklists/trivial-keys.ts'
import { base64url, fixedBytes, minimalBytes, toBigInt } from '../encoding/bytes.ts'
import { encode, encodeBitString, expectEnd, expectOid, readElement, tag } from '../encoding/der.ts'
import { encodeOid } from '../encoding/der-writer.ts'
import { sha256Hex } from '../encoding/jwk.ts'
import { nameOfCurve, oid } from '../encoding/oids.ts'
import { fault } from '../fault.ts'
import type { Examination, ParsedKey } from '../parsed-key.ts'
import type { Fault } from '../types.ts'
import { decompress, isOnCurve, type JoseCurve, joseCurves, secp256k1 } from './curves.ts'

const wanted = 'Make a key on P-256: openssl ecparam -name prime256v1 -genkey -noout -out key.pem'

/** Examines an EC key (RFC 5480): parameters and point as they stand in the SPKI. */
export function examineEc(parameters: Uint8Array, point: Uint8Array): Examination {
  if (parameters.length === 0) {
    const detail = 'The EC key names no curve. Export it again: openssl pkey -pubin -pubout'
    return { faults: [fault('spki_params_invalid', detail)] }
  }
  const element = readElement(parameters, 'the curve of the EC key')
  if (element.tag === tag.null || element.tag === tag.sequence) {
    const detail =
      'The EC key writes its curve out instead of naming it. Convert it: openssl ec -pubin -in key.pem -pubout -param_enc named_curve'
    return { faults: [fault('ec_explicit_parameters', detail)] }
  }
  if (element.tag !== tag.oid) {
    const detail = 'The parameters of the EC key are not the name of a curve.'
    return { faults: [fault('spki_params_invalid', detail)] }
  }
  const name = expectOid(parameters, 'the curve of the EC key')
  if (name.rest.length > 0) {
    const detail = 'Something follows the name of the curve in the parameters of the EC key.'
    return { faults: [fault('spki_params_invalid', detail)] }
  }
  expectEnd(name.rest, 'the name of the curve')
  const curve = joseCurves.find((known) => known.oid === name.oid)
  if (curve === undefined) return { faults: refuseCurve(name.oid, point) }
  return examinePoint(curve, point)
}

function refuseCurve(dotted: string, point: Uint8Array): Fault[] {
  const detail = `The curve ${nameOfCurve(dotted)} has no JWT algorithm that verifiers know; P-256, P-384 and P-521 have one. ${wanted}`
  const refused = fault('ec_curve_unsupported', detail)
  if (dotted !== secp256k1.oid) return [refused]
  const x = toBigInt(point.subarray(1, 1 + secp256k1.size))
  return [...checkTrivial(minimalBytes(x)), refused]
}

function examinePoint(curve: JoseCurve, point: Uint8Array): Examination {
  const { size, name } = curve
  const [format] = point
  const invalid = (detail: string): Examination => ({ faults: [fault('ec_point_invalid', detail)] })
  if (format === undefined) return invalid('The point of the EC key is missing.')
  if (format === 0x00) return invalid('The key is the point at infinity, which is no key.')
  if (format > 0x04) {
    const shown = format.toString(16).padStart(2, '0')
    const detail = `The point has the format ${shown}; 04 (uncompressed) is wanted. Convert it: openssl ec -pubin -in key.pem -pubout -conv_form uncompressed`
    return { faults: [fault('ec_point_format_unsupported', detail)] }
  }
  const compressed = format !== 0x04
  const length = compressed ? 1 + size : 1 + 2 * size
  if (point.length !== length) {
    return invalid(`The point has ${point.length} bytes; on ${name} it has ${length}.`)
  }
  const x = toBigInt(point.subarray(1, 1 + size))
  if (!compressed) return examineCoordinates(curve, x, toBigInt(point.subarray(1 + size)))
  const y = decompress(curve, x, format === 0x03)
  if (y === undefined) return invalid(`The compressed point is not on the curve ${name}.`)
  return { ...examineCoordinates(curve, x, y), normalised: ['compressed_point'] }
}

function examineCoordinates(curve: JoseCurve, x: bigint, y: bigint): Examination {
  const key = parsedEcKey(curve, x, y)
  if (!isOnCurve(curve, x, y)) {
    const detail = `The point is not on the curve ${curve.name}: the key is damaged. Copy it again, from its file.`
    return { key, faults: [fault('ec_point_invalid', detail)] }
  }
  return { key, faults: checkTrivial(key.material) }
}

function checkTrivial(material: Uint8Array): Fault[] {
  if (!isTrivialKey(sha256Hex(material))) return []
  const detail =
    'The private key of this public key can be guessed. Make a new pair with a working random generator: openssl ecparam -name prime256v1 -genkey -noout -out key.pem'
  return [fault('ec_private_key_trivial', detail)]
}

/** The forms of an EC public key: JWK with full-length coordinates (RFC 7518 6.2.1) and SPKI. */
export function parsedEcKey(curve: JoseCurve, x: bigint, y: bigint): ParsedKey {
  const xBytes = fixedBytes(x, curve.size)
  const yBytes = fixedBytes(y, curve.size)
  const algorithm = encode(tag.sequence, encodeOid(oid.ecPublicKey), encodeOid(curve.oid))
  const point = Buffer.concat([Uint8Array.of(0x04), xBytes, yBytes])
  return {
    name: `EC ${curve.name}`,
    jwk: { kty: 'EC', crv: curve.name, x: base64url(xBytes), y: base64url(yBytes) },
    crv: curve.name,
    spki: encode(tag.sequence, algorithm, encodeBitString(point)),
    material: minimalBytes(x),
    algorithms: [...fittingAlgorithms[curve.name]],
    platformType: 'ec',
  }
}
