import { LogError } from '@pubring/client/log'
import { type ExitKind, kindOfStatus } from '../terminal/exit-codes.ts'
import { CommandError, usageError } from '../terminal/failures.ts'

interface RemoteRequest {
  /** Names the content for messages: `a token`. */
  what: string
  headers: Record<string, string>
  timeoutMs: number
  /** The error for a response that is one, if it says more than its status. */
  refusal?(response: Response): Promise<Error | undefined>
  hints?: readonly string[]
}

const maxResponseBytes = 4 * 1024 * 1024

/** Fetches it. Throws if the response is an error, too large, too slow or a redirect. */
export async function fetchRemote(url: URL, request: RemoteRequest): Promise<Buffer<ArrayBuffer>> {
  const { what, headers, timeoutMs, hints = [] } = request
  const { host } = url
  const failed = (message: string, kind: ExitKind = 'unavailable') =>
    new CommandError(kind, message, { code: 'source_unavailable', hints })
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(url, { redirect: 'manual', headers, signal })
    const { status } = response
    if (status >= 300 && status < 400) throw redirected(response, url)
    if (!response.ok) {
      const refusal = await request.refusal?.(response)
      throw refusal ?? failed(`${host} answered ${status}, not ${what}.`, kindOfStatus(status))
    }
    const parts: Uint8Array<ArrayBuffer>[] = []
    let length = 0
    for await (const part of response.body ?? []) {
      parts.push(part)
      length += part.length
      if (length <= maxResponseBytes) continue
      const message = `The response has more than ${maxResponseBytes} bytes: too large for ${what}.`
      throw new CommandError('refused', message, { code: 'source_too_large' })
    }
    return Buffer.concat(parts)
  } catch (error) {
    if (error instanceof CommandError || error instanceof LogError) throw error
    if (signal.aborted) throw failed(`${host} did not answer within ${timeoutMs / 1_000} s.`)
    const cause = systemCode(error)
    if (!isTlsCode(cause)) throw failed(`${host} cannot be reached${cause && ` (${cause})`}.`)
    throw failed(tlsProblem(cause, host), 'untrusted')
  }
}

/** The file at a path below the address of a log, such as `checkpoint`. */
export async function readLogFile(log: string, path: string): Promise<Uint8Array> {
  const url = URL.parse(`${log.replace(/\/+$/, '')}/${path}`)
  if (url === null) throw usageError(`${log} is not an address.`)
  const what = `${path} of a log`
  return fetchRemote(url, { what, headers: {}, timeoutMs: 30_000, refusal: stoppedLog })
}

/** A log that cannot show its files proves as little as one whose files contradict each other. */
async function stoppedLog(response: Response): Promise<LogError | undefined> {
  const { code, detail }: Record<string, unknown> = Object(await response.json().catch(() => ({})))
  return code === 'log_stopped' || code === 'log_ended'
    ? new LogError('disproved', String(detail))
    : undefined
}

function redirected(response: Response, url: URL): CommandError {
  const location = response.headers.get('location')
  const target = location === null ? null : URL.parse(location, url)
  return new CommandError('refused', `${url.host} redirects to another address.`, {
    code: 'redirected',
    hints: target === null ? [] : [`If you trust that address, use ${target.href}`],
  })
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

/** Whether the other side answered something else than TLS, and no certificate. */
export function isPlainHttp(code: string): boolean {
  return /_SSL_/.test(code)
}

/** The fault of the other side, for a code of TLS. */
export function tlsProblem(code: string, place: string): string {
  return isPlainHttp(code)
    ? `The server at ${place} does not speak TLS (${code}).`
    : `The certificate of ${place} is not trusted here (${code}).`
}

export function isTlsCode(code: string): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)|_SSL_/.test(code)
}
