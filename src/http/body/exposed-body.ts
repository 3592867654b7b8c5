import { containsPrivateKey } from '../../core/labels.ts'
import { PubringError } from '../../errors.ts'

/**
 * Throws `private_key_submitted` if the text of a rejected body contains a private key: a
 * compromised key matters more than a missing field.
 */
export function rejectPrivateKey(text: string): void {
  if (!containsPrivateKey(text)) return
  throw new PubringError(
    'private_key_submitted',
    'The body contains a private key. Nothing of it was stored. Treat that key as compromised: generate a new pair and send only its public key, in publicKeyPem.',
  )
}
