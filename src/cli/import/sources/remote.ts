import { isLoopback } from '../../connection/connection.ts'
import { fetchRemote } from '../../connection/remote.ts'
import { usageError } from '../../terminal/failures.ts'

/** How to fetch a remote key set. */
export interface FetchOptions {
  timeoutMs: number
  /** Allows plain http from other machines. */
  allowHttp: boolean
  signal: AbortSignal
}

/** Fetches a key set, from this machine and without an API key. Plain http must be allowed. */
export async function fetchKeySet(
  address: string,
  { allowHttp, ...options }: FetchOptions,
): Promise<Buffer> {
  const headers = { accept: 'application/jwk-set+json, application/json' }
  const request = { ...options, what: 'a key set', headers }
  return fetchRemote(parseAddress(address, allowHttp), request)
}

function parseAddress(address: string, allowHttp: boolean): URL {
  const url = URL.parse(address)
  if (url === null) throw usageError('The source is not a valid address.')
  if (url.username !== '' || url.password !== '') {
    throw usageError('The address of a key set must not have a user or a password.')
  }
  if (url.protocol === 'https:' || isLoopback(url) || allowHttp) return url
  throw usageError(
    'Over plain http, anyone on the network can add their own keys to the set.',
    'Use https, or --allow-http if the network is trusted.',
  )
}
