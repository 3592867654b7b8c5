import { PubringError } from './errors.ts'

/**
 * The address that all operations begin with: `…/v1`, without a final slash. Takes the address of a
 * service with or without a final slash, a sub-path or a final `/v1`; IPv6 hosts in brackets. Throws
 * `invalid_url` for anything else; credentials in it are never repeated.
 */
export function baseUrl(text: string): string {
  const given = text.trim()
  if (!/^https?:\/\//i.test(given)) throw invalid(`${shown(given)} does not begin with http(s)://.`)
  if (!URL.canParse(given)) throw invalid(`${shown(given)} is not a valid address.`)
  const url = new URL(given)
  if (url.username !== '' || url.password !== '') {
    throw invalid(
      'it holds a user name or a password. Pubring knows API keys alone: leave them out.',
    )
  }
  if (url.search !== '' || url.hash !== '') {
    throw invalid(
      `${url.origin}${url.pathname} is followed by a query or a fragment: leave it out.`,
    )
  }
  const path = url.pathname.replace(/\/+$/, '')
  return `${url.origin}${path.endsWith('/v1') ? path : `${path}/v1`}`
}

/** What was given, unless a password or a secret may be in it. */
function shown(given: string): string {
  return given.includes('@') || given.length > 200 ? 'it' : `“${given}”`
}

function invalid(what: string): PubringError {
  const advice = 'Give the address of the service, such as https://keys.example.com.'
  return new PubringError('invalid_url', `The address cannot be used: ${what} ${advice}`)
}

/**
 * One segment of a path. Throws `invalid_path` where the address would come to mean something else
 * (RFC 3986 section 5.2.4), percent-encoded or not.
 */
export function segment(value: string, what: string): string {
  if (value === '' || value === '.' || value === '..') {
    throw new PubringError('invalid_path', `The ${what} must not be empty, “.” or “..”.`)
  }
  return encodeURIComponent(value.toWellFormed())
}
