import { KeySetError } from './errors.ts'

/**
 * The URL of the full key set for a project's issuer; a JWKS URL is used as it is. Throws
 * `invalid_address` for anything else, without repeating the input, which may contain a password.
 */
export function keySetUrl(address: string | URL): string {
  const text = String(address).trim()
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw invalidAddress()
  if (url.username !== '' || url.password !== '' || url.hash !== '') throw invalidAddress()
  const path = url.pathname.replace(/\/+$/, '')
  if (/\/jwks(-full)?\.json$/.test(path)) return `${url.origin}${path}${url.search}`
  if (!/\/projects\/[^/]+$/.test(path) || url.search !== '') throw invalidAddress()
  return `${url.origin}${path}/.well-known/jwks-full.json`
}

/** The id of the project in the `Content-Location` of a key set that was asked for by name. */
export function projectIdOf(contentLocation: string | undefined): string | undefined {
  return /\/projects\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/\.well-known\//.exec(
    contentLocation ?? '',
  )?.[1]
}

/** The URL by the id of the project, once a response has told it: later a name may be another's. */
export function urlById(url: string, contentLocation: string | undefined): string {
  const id = projectIdOf(contentLocation)
  return id === undefined ? url : url.replace(/[^/]+(?=\/\.well-known\/)/, id)
}

function invalidAddress(): KeySetError {
  return new KeySetError(
    'invalid_address',
    'Use the issuer of the project (https://HOST/v1/projects/ID) or its JWKS URL (…/.well-known/jwks.json).',
  )
}
