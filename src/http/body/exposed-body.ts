import { containsPrivateKey } from '../../core/keys/labels.ts'
import { PubringError } from '../../errors.ts'

/**
 * Throws `private_key_submitted` where the text of a body that is refused anyway holds a private
 * key: whoever sent it must hear that it is burnt, rather than that a field is missing.
 */
export function refuseExposedKey(text: string): void {
  if (!containsPrivateKey(text)) return
  throw new PubringError(
    'private_key_submitted',
    'The body holds a private key. Nothing of it was stored. Treat that key as compromised: make a new pair and send only the public part, in publicKeyPem (openssl pkey -in key.pem -pubout).',
  )
}
