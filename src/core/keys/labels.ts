import { invalidField, PubringError } from '../../errors.ts'
import { containsSecret } from '../../intake/secrets/detector.ts'
import { containsApiKey, containsToken } from '../redaction.ts'

const maxCodePoints = 255

/** Longest text that is searched for private keys in every encoding (1 ms), in characters. */
const maxSearchedLength = 4_096

/** Whether a text that is to be stored unchanged contains a private key. */
export function containsPrivateKey(text: string): boolean {
  return containsSecret(text, maxSearchedLength)
}

/**
 * A label or name as free text: trimmed, 1 to 255 code points, no control characters (Unicode Cc),
 * no lone surrogates, no secrets. Throws `invalid_request` or `private_key_submitted`; a caller that
 * speaks for a request has asked `refusePrivateKeys` first, which makes an incident of the second.
 */
export function parseLabel(text: string, pointer: string): string {
  refuseSecret(text, pointer)
  const label = text.trim()
  const field = pointer.slice(1)
  if (!label.isWellFormed()) {
    throw invalidField(
      pointer,
      'text_invalid',
      `${field} holds half of a surrogate pair: send whole Unicode characters.`,
    )
  }
  if (/\p{Cc}/u.test(label)) {
    throw invalidField(
      pointer,
      'text_invalid',
      `${field} may not hold control characters, such as line breaks: remove them.`,
    )
  }
  const length = [...label].length
  if (length === 0) {
    throw invalidField(
      pointer,
      'too_short',
      `${field} is empty: give 1 to ${maxCodePoints} characters.`,
    )
  }
  if (length > maxCodePoints) {
    throw invalidField(
      pointer,
      'too_long',
      `${field} has ${length} characters; at most ${maxCodePoints} are allowed.`,
    )
  }
  return label
}

/** A label is stored, listed and written into the ledger: a secret in it would be everywhere. */
function refuseSecret(label: string, pointer: string): void {
  const field = pointer.slice(1)
  if (containsPrivateKey(label)) {
    const detail = `${field} holds a private key. It was not stored. Treat that key as compromised and make a new pair.`
    const errors = [{ pointer, code: 'private_key_submitted', detail }]
    throw new PubringError('private_key_submitted', detail, { errors })
  }
  if (containsToken(label)) {
    throw invalidField(
      pointer,
      'text_invalid',
      `${field} holds a token (JWT). It was not stored: give a name that others may read.`,
    )
  }
  if (containsApiKey(label)) {
    throw invalidField(
      pointer,
      'text_invalid',
      `${field} holds an API key. It was not stored. Revoke that API key if others could read it here.`,
    )
  }
}
