import { readText } from '../../../../client/src/text-chunks.ts'
import { isTlsCode, systemCode } from '../../connection/client-errors.ts'
import { isLoopback } from '../../connection/connection.ts'
import { type ExitKind, kindOfStatus } from '../../terminal/exit-codes.ts'
import { CommandError, usageError } from '../../terminal/failures.ts'

/** How to fetch a remote key set. */
export interface FetchOptions {
  timeoutMs: number
  /** Allows plain http from other machines. */
  allowHttp: boolean
  signal: AbortSignal
}

const maxResponseBytes = 4 * 1024 * 1024

/**
 * Fetches a key set, from this machine and without an API key. Throws if the response is too
 * large, too slow or a redirect, and for plain http unless it is allowed.
 */
export async function fetchKeySet(address: string, options: FetchOptions): Promise<Buffer> {
  const url = parseAddress(address, options.allowHttp)
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)])
  const headers = { accept: 'application/jwk-set+json, application/json' }
  try {
    const response = await fetch(url, { redirect: 'manual', headers, signal })
    if (response.status >= 300 && response.status < 400) throw redirected(response, url)
    if (!response.ok) {
      const message = `${url.host} answered ${response.status}, not a key set.`
      throw unavailable(message, kindOfStatus(response.status))
    }
    const text = await readText(response, maxResponseBytes)
    if (text !== undefined) return Buffer.from(text)
    const message = `The response has more than ${maxResponseBytes} bytes: too large for a key set.`
    throw new CommandError('refused', message, { code: 'source_too_large' })
  } catch (error) {
    throw explain(error, url, options)
  }
}

function explain(error: unknown, { host }: URL, { signal, timeoutMs }: FetchOptions): unknown {
  if (error instanceof CommandError) return error
  if (signal.aborted) return new CommandError('interrupted', 'Interrupted.')
  if (error instanceof Error && error.name === 'TimeoutError') {
    return unavailable(`${host} did not answer within ${timeoutMs / 1_000} s.`)
  }
  const cause = systemCode(error)
  if (isTlsCode(cause)) {
    return unavailable(`The certificate of ${host} is not trusted here (${cause}).`, 'untrusted')
  }
  return unavailable(`${host} cannot be reached${cause && ` (${cause})`}.`)
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

function redirected(response: Response, url: URL): CommandError {
  const target = URL.parse(response.headers.get('location') ?? '', url)
  return new CommandError('refused', `${url.host} redirects to another address.`, {
    code: 'redirected',
    hints: target === null ? [] : [`If you trust that address, import ${target.href}`],
  })
}

function unavailable(message: string, kind: ExitKind = 'unavailable'): CommandError {
  return new CommandError(kind, message, { code: 'source_unavailable' })
}
