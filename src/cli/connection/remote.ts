import { readText } from '../../../client/src/text-chunks.ts'
import { type ExitKind, kindOfStatus } from '../terminal/exit-codes.ts'
import { CommandError } from '../terminal/failures.ts'

/** A request to another host than the server. */
export interface RemoteRequest {
  /** What it returns, for messages: `a key set`. */
  what: string
  headers: Record<string, string>
  timeoutMs: number
  signal?: AbortSignal
  /** What to do if it cannot be had. */
  hints?: readonly string[]
}

const maxResponseBytes = 4 * 1024 * 1024

/** Fetches it. Throws if the response is an error, too large, too slow or a redirect. */
export async function fetchRemote(url: URL, request: RemoteRequest): Promise<string> {
  const { what, headers, timeoutMs, hints } = request
  const deadline = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([deadline, ...(request.signal ? [request.signal] : [])])
  try {
    const response = await fetch(url, { redirect: 'manual', headers, signal })
    if (response.status >= 300 && response.status < 400) throw redirected(response, url)
    if (!response.ok) {
      const message = `${url.host} answered ${response.status}, not ${what}.`
      throw unavailable(message, hints, kindOfStatus(response.status))
    }
    const text = await readText(response, maxResponseBytes)
    if (text !== undefined) return text
    const message = `The response has more than ${maxResponseBytes} bytes: too large for ${what}.`
    throw new CommandError('refused', message, { code: 'source_too_large' })
  } catch (error) {
    throw explain(error, url, request)
  }
}

function explain(
  error: unknown,
  { host }: URL,
  { signal, timeoutMs, hints }: RemoteRequest,
): unknown {
  if (error instanceof CommandError) return error
  if (signal?.aborted) return new CommandError('interrupted', 'Interrupted.')
  if (error instanceof Error && error.name === 'TimeoutError') {
    return unavailable(`${host} did not answer within ${timeoutMs / 1_000} s.`, hints)
  }
  const cause = systemCode(error)
  if (isTlsCode(cause)) {
    const message = `The certificate of ${host} is not trusted here (${cause}).`
    return unavailable(message, hints, 'untrusted')
  }
  return unavailable(`${host} cannot be reached${cause && ` (${cause})`}.`, hints)
}

function redirected(response: Response, url: URL): CommandError {
  const target = URL.parse(response.headers.get('location') ?? '', url)
  return new CommandError('refused', `${url.host} redirects to another address.`, {
    code: 'redirected',
    hints: target === null ? [] : [`If you trust that address, use ${target.href}`],
  })
}

function unavailable(
  message: string,
  hints: readonly string[] = [],
  kind: ExitKind = 'unavailable',
): CommandError {
  return new CommandError(kind, message, { code: 'source_unavailable', hints })
}

/** The code of the system or TLS error behind an error of `fetch`; empty if there is none. */
export function systemCode(error: unknown): string {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; depth += 1) {
    if ('code' in each && typeof each.code === 'string' && /^[A-Z]/.test(each.code)) {
      return each.code
    }
    each = each instanceof AggregateError ? each.errors[0] : each.cause
  }
  return ''
}

export function isTlsCode(code: string): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)|_SSL_/.test(code)
}
