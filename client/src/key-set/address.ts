import { KeySetError } from './errors.ts'

/**
 * The address of the key set behind a project's issuer, or behind that address itself. Throws
 * `invalid_address` for anything else, without what could be a password.
 */
export function keySetAddress(given: string | URL): string {
  const text = String(given).trim()
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw invalid()
  if (url.username !== '' || url.password !== '' || url.hash !== '') throw invalid()
  const path = url.pathname.replace(/\/+$/, '')
  if (path.endsWith('/jwks.json')) return `${url.origin}${path}${url.search}`
  if (!/\/projects\/[^/]+$/.test(path) || url.search !== '') throw invalid()
  return `${url.origin}${path}/.well-known/jwks.json`
}

function invalid(): KeySetError {
  return new KeySetError(
    'invalid_address',
    'Give the issuer of the project (https://HOST/v1/projects/ID) or the address of its key set (…/.well-known/jwks.json).',
  )
}
