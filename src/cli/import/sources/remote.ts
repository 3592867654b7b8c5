import { causeOf, isCertificateFault } from '../../connection/faults.ts'
import { type ExitKind, kindOfStatus } from '../../terminal/exit-codes.ts'
import { CommandError, usageError } from '../../terminal/failures.ts'

/** How a key set on the net is fetched. */
export interface FetchOptions {
  /** Milliseconds. */
  timeout: number
  /** Also by plain http from other machines. */
  allowHttp: boolean
  signal: AbortSignal
}

/** Octets of a key set that are read at most. */
const mostOctets = 4 * 1024 * 1024

/**
 * Fetches a key set, by this command and never by the server, without any API key. Throws where it is
 * too large or too slow, not secure on its way, or somewhere else.
 */
export async function fetchText(address: string, options: FetchOptions): Promise<string> {
  const url = parsed(address, options.allowHttp)
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeout)])
  const headers = { accept: 'application/jwk-set+json, application/json' }
  try {
    const answer = await fetch(url, { redirect: 'manual', headers, signal })
    if (answer.status >= 300 && answer.status < 400) throw elsewhere(answer, url)
    if (!answer.ok) {
      const message = `${url.host} answered ${answer.status}, not a key set.`
      throw unavailable(message, kindOfStatus(answer.status))
    }
    return await textOf(answer)
  } catch (error) {
    if (error instanceof CommandError) throw error
    if (options.signal.aborted) throw new CommandError('interrupted', 'Interrupted.')
    if (error instanceof Error && error.name === 'TimeoutError') {
      throw unavailable(`${url.host} did not answer within ${options.timeout / 1_000} s.`)
    }
    const cause = causeOf(error)
    if (isCertificateFault(cause)) {
      throw unavailable(
        `The certificate of ${url.host} is not trusted here (${cause}).`,
        'untrusted',
      )
    }
    throw unavailable(`${url.host} cannot be reached${cause && ` (${cause})`}.`)
  }
}

function parsed(address: string, allowHttp: boolean): URL {
  const url = URL.parse(address)
  if (url === null) throw usageError('The source is not a valid address.')
  if (url.username !== '' || url.password !== '') {
    throw usageError('The address of a key set has no user and no password.')
  }
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
  if (url.protocol === 'https:' || isLocal || allowHttp) return url
  throw usageError(
    'By plain http anybody on the way can put a key of theirs into the set.',
    'Take https, or say --allow-http if the way is safe.',
  )
}

function elsewhere(answer: Response, url: URL): CommandError {
  const target = URL.parse(answer.headers.get('location') ?? '', url)
  return new CommandError('refused', `${url.host} says that the key set is somewhere else.`, {
    code: 'redirected',
    hints: target === null ? [] : [`If you trust that place, import ${target.href}`],
  })
}

function unavailable(message: string, kind: ExitKind = 'unavailable'): CommandError {
  return new CommandError(kind, message, { code: 'source_unavailable' })
}

async function textOf(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of answer.body ?? []) {
    length += chunk.length
    if (length > mostOctets) {
      const message = `The key set has more than ${mostOctets} bytes: it is none, or too large.`
      throw new CommandError('refused', message, { code: 'source_too_large' })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
