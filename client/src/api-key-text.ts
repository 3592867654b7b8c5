import { PubringError } from './errors.ts'

/**
 * An API key as it is sent. White space and a byte order mark around it are dropped: they come from
 * files and from copying. Throws `invalid_api_key_text`, without the text, where it is empty or holds
 * anything but visible ASCII, which no header can carry (RFC 9110 section 5.5).
 */
export function apiKeyText(text: string): string {
  const trimmed = text.replace(/^[\s\uFEFF]+|[\s\uFEFF]+$/g, '')
  if (trimmed === '') throw new PubringError('invalid_api_key_text', 'The API key is empty.')
  if (!/^[\x21-\x7e]+$/.test(trimmed)) {
    throw new PubringError(
      'invalid_api_key_text',
      'The API key holds a blank, a line break or a character that is not ASCII, such as a curly quote. Copy it again: pubring_ and letters and digits.',
    )
  }
  return trimmed
}
