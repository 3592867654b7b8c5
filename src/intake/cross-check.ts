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

/** The DER of each curve as far as the point, as OpenSSL writes it. */
const headers = new Map<string, Buffer>()

/**
 * The DER as OpenSSL writes it. Its search for a writer takes longer than all other checks of an EC key,
 * so it writes only the first key of each curve: those of others differ in nothing but the
 * coordinates, which it has written in the JWK.
 */
function writeSpki(parsed: KeyObject, { crv = '', x = '', y = '' }: webcrypto.JsonWebKey): Buffer {
  const point = Buffer.concat([x, y].map((coordinate) => Buffer.from(coordinate, 'base64url')))
  const header = headers.get(crv)
  if (header !== undefined) return Buffer.concat([header, point])
  const spki = parsed.export({ type: 'spki', format: 'der' })
  if (parsed.asymmetricKeyType === 'ec') headers.set(crv, spki.subarray(0, -point.length))
  return spki
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
