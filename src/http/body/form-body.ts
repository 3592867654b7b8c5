import { PubringError } from '../../errors.ts'
import { decodeUtf8 } from '../../runtime/json.ts'

/**
 * Parses `application/x-www-form-urlencoded`. Rejects what parsers read differently: broken escapes,
 * and a parameter that occurs twice (RFC 6749 section 3.2).
 */
export function parseForm(bytes: Uint8Array): Record<string, string> {
  const text = decodeUtf8(bytes)
  const parameters = [...new URLSearchParams(text)]
  const names = new Set(parameters.map(([name]) => name))
  if (text === undefined || /^\?|%(?![0-9a-f]{2})/i.test(text) || names.size < parameters.length) {
    throw new PubringError('invalid_request', 'The form is malformed, or has a parameter twice.')
  }
  return Object.fromEntries(parameters)
}
