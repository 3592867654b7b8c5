import { containsSecret } from '../../../src/intake/secrets/detector.ts'

/** Longest text that is searched in every encoding, in characters: the service reads no more. */
const maxSearchedLength = 65_536

/**
 * Whether the text contains a private key, a symmetric key or an API key. The console never sends
 * such text. The detector is the service's own.
 */
export function isSecretText(text: string): boolean {
  return containsSecret(text, maxSearchedLength) || /pubring_[A-Za-z0-9]{20}/.test(text)
}
