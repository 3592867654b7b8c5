import { LogError } from '../../../client/src/log/index.ts'
import { CommandError } from '../terminal/failures.ts'

/** Bytes of a response: bundles have up to 256 entries of about 250 bytes. */
const maxResponseBytes = 1024 * 1024

const requestTimeoutMs = 30_000

/** The file at a path below the address of a log, such as `checkpoint`. */
export async function readLogFile(log: string, path: string): Promise<Uint8Array> {
  const url = `${log.replace(/\/+$/, '')}/${path}`
  const signal = AbortSignal.timeout(requestTimeoutMs)
  const response = await fetch(url, { signal, redirect: 'error' }).catch((cause: unknown) => {
    const code = cause instanceof Error && cause.name === 'TimeoutError' ? 'timeout' : 'unreachable'
    throw new CommandError('unavailable', `${url} cannot be reached.`, { code })
  })
  if (response.status !== 200) {
    const message = `${url} responded with the status ${response.status}. Is it a log?`
    throw new CommandError('unavailable', message)
  }
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of response.body ?? []) {
    parts.push(part)
    length += part.length
    if (length > maxResponseBytes) throw new LogError('malformed', `${url} is too large.`)
  }
  return Buffer.concat(parts)
}
