import { containsSecret } from '@pubring/intake/secrets'
import { invalidField } from '../../errors.ts'
import { containsApiKey, containsToken } from '../exposure/redaction.ts'

const maxCodePoints = 255

/** Longest text that is searched for private keys in every encoding (1 ms), in characters. */
const maxSearchedLength = 4_096

/** Whether a text that would be stored unchanged contains a private key. */
export function containsPrivateKey(text: string): boolean {
  return containsSecret(text, maxSearchedLength)
}

/**
 * Line and paragraph separators, and the characters that change the direction of the text after them
 * (UAX #9): a label with one can look like another label.
 */
const layoutControls = /[\u2028\u2029\u202a-\u202e\u2066-\u2069]/

const invisible = /[\s\u2800\p{Default_Ignorable_Code_Point}]/gu
const visible = /[\p{L}\p{N}\p{P}\p{S}]/u

/**
 * Trims a label or name: free text of 1 to 255 code points with a visible character, and without
 * control characters (Unicode Cc), layout controls, lone surrogates and secrets. Throws
 * `invalid_request` or `private_key_submitted`. Requests go through `rejectPrivateKeys` first, which
 * records the incident.
 */
export function parseLabel(text: string, pointer: string): string {
  requireNoSecrets(text, pointer)
  const label = text.trim()
  requireFaultless(pointer, textFault(label, [...label].length, maxCodePoints) ?? lookFault(label))
  return label
}

/** The fault of a text that cannot be stored and shown as it is; the sentence begins with the name of the field. */
type TextFault = [code: string, sentence: string]

function requireFaultless(pointer: string, fault: TextFault | undefined): void {
  if (fault === undefined) return
  throw invalidField(pointer, fault[0], `${pointer.slice(1)} ${fault[1]}`)
}

function textFault(text: string, length: number, max: number): TextFault | undefined {
  if (!text.isWellFormed()) {
    return ['text_invalid', 'has half of a surrogate pair. Send complete characters.']
  }
  if (/\p{Cc}/u.test(text)) {
    return ['text_invalid', 'must not have control characters, such as line breaks.']
  }
  if (length === 0) return ['too_short', `is empty. Send 1 to ${max} characters.`]
  return length <= max
    ? undefined
    : ['too_long', `has ${length} characters; at most ${max} are allowed.`]
}

function lookFault(label: string): TextFault | undefined {
  if (layoutControls.test(label)) {
    return ['text_invalid', 'must not have characters that change its direction or lines.']
  }
  if (visible.test(label.replace(invisible, ''))) return undefined
  return ['text_invalid', 'has no visible character. Send a text that people can read.']
}

/**
 * Throws `invalid_request` or `private_key_submitted`. These texts are stored, listed and written to
 * the ledger, so a secret in one would be exposed.
 */
export function requireNoSecrets(label: string, pointer: string): void {
  const field = pointer.slice(1)
  if (containsPrivateKey(label)) {
    const detail = `${field} contains a private key. It was not stored. Treat that key as compromised and generate a new pair.`
    throw invalidField(pointer, 'private_key_submitted', detail, 'private_key_submitted')
  }
  if (containsToken(label)) {
    const detail = `${field} contains a token (JWT). It was not stored. Choose a text without secrets.`
    throw invalidField(pointer, 'text_invalid', detail)
  }
  if (containsApiKey(label)) {
    const detail = `${field} contains an API key. It was not stored. Revoke that API key if others may have seen it.`
    throw invalidField(pointer, 'text_invalid', detail)
  }
}

/** The most characters of a text that is compared with claims. */
export const maxPlainLength = 1_024

/** Why such a text cannot be stored and shown as it is, as the end of a sentence; undefined if it can. */
export function plainFault(text: string): string | undefined {
  return textFault(text, text.length, maxPlainLength)?.[1]
}

/** Throws `invalid_request` for such a text. */
export function requirePlain(text: string, pointer: string): void {
  requireFaultless(pointer, textFault(text, text.length, maxPlainLength))
}
