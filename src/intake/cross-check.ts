import { createPublicKey, type KeyObject } from 'node:crypto'
import { equalBytes } from './encoding/bytes.ts'
import type { ParsedKey } from './parsed-key.ts'

/**
 * Throws an Error unless Node reads the canonical SPKI DER of a key as the same type, DER and JWK:
 * one of the two parsers is then wrong, and the key must not be stored.
 */
export function crossCheck(key: ParsedKey): void {
  const parsed = parseWithNode(key)
  if (parsed.asymmetricKeyType !== key.platformType) throwDisagreement(key, 'the type of the key')
  if (!equalBytes(parsed.export({ type: 'spki', format: 'der' }), key.spki)) {
    throwDisagreement(key, 'its DER')
  }
  // Node cannot export the JWK of an RSA-PSS key.
  if (key.platformType === 'rsa-pss') return
  const jwk = new Map(Object.entries(parsed.export({ format: 'jwk' })))
  const members = Object.entries(key.jwk)
  const isSame =
    members.length === jwk.size && members.every(([name, value]) => jwk.get(name) === value)
  if (!isSame) throwDisagreement(key, 'its JWK')
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
