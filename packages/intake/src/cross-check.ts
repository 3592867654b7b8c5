import { createPublicKey, type KeyObject, type webcrypto } from 'node:crypto'
import { equalBytes } from './encoding/bytes.ts'
import type { ParsedKey } from './parsed-key.ts'

/**
 * Throws an Error unless Node reads the canonical SPKI DER of a key as the same type, DER and JWK:
 * one of the two parsers is then wrong, and the key must not be stored.
 */
export function crossCheck(key: ParsedKey): void {
  const parsed = parseWithNode(key)
  if (parsed.asymmetricKeyType !== key.platformType) throwDisagreement(key, 'the type of the key')
  // Node cannot export the JWK of an RSA-PSS key.
  const written = key.platformType === 'rsa-pss' ? {} : parsed.export({ format: 'jwk' })
  if (!equalBytes(writeSpki(parsed, written), key.spki)) throwDisagreement(key, 'its DER')
  if (key.platformType === 'rsa-pss') return
  const jwk = new Map(Object.entries(written))
  const members = Object.entries(key.jwk)
  const isSame =
    members.length === jwk.size && members.every(([name, value]) => jwk.get(name) === value)
  if (!isSame) throwDisagreement(key, 'its JWK')
}

/** The bytes before the point in the DER of each curve, as OpenSSL writes it. */
const headers = new Map<string, Buffer>()

/**
 * The DER as OpenSSL writes it. OpenSSL searches all its encoders for each DER, which takes longer than
 * all other checks of a key on a curve. So it writes the header of each curve once, from a JWK, which no
 * submitted encoding can influence. The coordinates are those it wrote into the JWK.
 */
function writeSpki(parsed: KeyObject, jwk: webcrypto.JsonWebKey): Buffer {
  const { crv, x = '', y = '' } = jwk
  if (crv === undefined) return exportSpki(parsed)
  const point = Buffer.concat([x, y].map((coordinate) => Buffer.from(coordinate, 'base64url')))
  const header =
    headers.get(crv) ??
    exportSpki(createPublicKey({ key: jwk, format: 'jwk' })).subarray(0, -point.length)
  headers.set(crv, header)
  return Buffer.concat([header, point])
}

function exportSpki(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' })
}

function parseWithNode(key: ParsedKey): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(key.spki), format: 'der', type: 'spki' })
  } catch {
    return throwDisagreement(key, 'whether it is valid')
  }
}

/** The error has no cause: messages of OpenSSL may quote input. */
function throwDisagreement(key: ParsedKey, subject: string): never {
  throw new Error(`key intake and Node disagree about ${subject} (${key.name})`)
}
