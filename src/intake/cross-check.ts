import { createPublicKey, type KeyObject } from 'node:crypto'
import { equalBytes } from './encoding/bytes.ts'
import type { ParsedKey } from './parsed-key.ts'

/**
 * Asks the platform to read the canonical SPKI DER of a key that passed every check, and requires
 * that it sees the same kind, the same DER and the same JWK. Throws an Error where it does not:
 * then one of the two readers is wrong and the key must not be stored.
 */
export function crossCheck(key: ParsedKey): void {
  const found = parse(key)
  if (found.asymmetricKeyType !== key.platformType) disagree(key, 'the kind of the key')
  if (!equalBytes(found.export({ type: 'spki', format: 'der' }), key.spki)) disagree(key, 'its DER')
  if (key.platformType === 'rsa-pss') return
  const jwk = new Map(Object.entries(found.export({ format: 'jwk' })))
  const members = Object.entries(key.jwk)
  const same =
    members.length === jwk.size && members.every(([name, value]) => jwk.get(name) === value)
  if (!same) disagree(key, 'its JWK')
}

function parse(key: ParsedKey): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(key.spki), format: 'der', type: 'spki' })
  } catch {
    return disagree(key, 'whether it is a key')
  }
}

/** The error carries no cause: the platform's messages are not ours to vouch for. */
function disagree(key: ParsedKey, about: string): never {
  throw new Error(`key intake and the platform disagree about ${about} (${key.name})`)
}
