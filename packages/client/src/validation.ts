import { PubringError } from './errors.ts'

/**
 * The base URL of all operations: `…/v1`, without a trailing slash. Accepts the service's URL with or
 * without a trailing slash, a sub-path or a trailing `/v1`. Throws `invalid_url` for anything else;
 * the error never contains credentials from the URL.
 */
export function normalizeUrl(input: string): string {
  const text = input.trim()
  if (!/^https?:\/\//i.test(text)) {
    throw invalidUrl(`${quote(text)} does not start with http:// or https://.`)
  }
  if (!URL.canParse(text)) throw invalidUrl(`${quote(text)} is not a valid URL.`)
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') {
    throw invalidUrl('it contains a user name or password. Remove them: Pubring uses API keys.')
  }
  if (url.search !== '' || url.hash !== '') {
    throw invalidUrl(`remove the query or fragment after ${url.origin}${url.pathname}.`)
  }
  const path = url.pathname.replace(/\/+$/, '')
  return `${url.origin}${path.endsWith('/v1') ? path : `${path}/v1`}`
}

/** The input for an error message, unless it may contain a secret. */
function quote(text: string): string {
  return text.includes('@') || text.length > 200 ? 'it' : `“${text}”`
}

function invalidUrl(reason: string): PubringError {
  const advice = 'Use the address of the service, such as https://keys.example.com.'
  return new PubringError('invalid_url', `The URL cannot be used: ${reason} ${advice}`)
}

/**
 * One encoded path segment. Throws `invalid_path` for dot segments (RFC 3986 section 5.2.4), which
 * would address another resource even when percent-encoded.
 */
export function pathSegment(value: string, name: string): string {
  if (value === '' || value === '.' || value === '..') {
    throw new PubringError('invalid_path', `The ${name} must not be empty, “.” or “..”.`)
  }
  return encodeURIComponent(value.toWellFormed())
}

/**
 * The API key as sent, without the surrounding white space and byte order mark that files and copying
 * add. Throws `invalid_api_key_text`, without repeating the text, if it is empty or has characters
 * other than visible ASCII, which a header cannot carry (RFC 9110 section 5.5).
 */
export function normalizeApiKey(text: string): string {
  const trimmed = text.replace(/^[\s\uFEFF]+|[\s\uFEFF]+$/g, '')
  if (trimmed === '') throw new PubringError('invalid_api_key_text', 'The API key is empty.')
  if (!/^[\x21-\x7e]+$/.test(trimmed)) {
    throw new PubringError(
      'invalid_api_key_text',
      'The API key contains a space, a line break or a character that is not ASCII, such as a curly quote. Copy it again: it is pubring_ followed by letters and digits.',
    )
  }
  return trimmed
}
