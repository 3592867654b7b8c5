import type { CallOptions, Confirmation, Precondition } from './call-options.ts'
import type { Operation, Transport } from './transport/transport.ts'

/**
 * Sends an operation and resolves with its body, whose type is the service's contract
 * (test/client/types.test.ts).
 */
export type Send = <Body>(operation: Operation, options: CallOptions) => Promise<Body>

export function createSend(transport: Transport): Send {
  return async <Body>(operation: Operation, { signal, retries }: CallOptions) => {
    const { body } = await transport.send({ ...operation, signal, retries })
    return body as Body
  }
}

export const read = (path: string): Operation => ({ method: 'GET', path, retry: 'always' })
export const readList = (path: string, query: Operation['query'] = {}): Operation => {
  return { ...read(path), query, list: true }
}
export const readPublic = (path: string): Operation => ({ ...read(path), access: 'public' })
/** A POST that stores something. Not retried if it may have succeeded. */
export const create = (path: string, body: object): Operation => {
  return { method: 'POST', path, body, retry: 'if-not-processed' }
}
/** A POST that stores nothing, or the same when it is repeated. */
export const repeatable = (path: string, body: object): Operation => {
  return { method: 'POST', path, body, retry: 'always' }
}
/**
 * A repeated patch could undo another caller's change made in between. Deactivation is retried all
 * the same: taking effect matters more.
 */
export const patch = (path: string, body: object): Operation => {
  const deactivates = JSON.stringify(body) === '{"active":false}'
  return { method: 'PATCH', path, body, retry: deactivates ? 'always' : 'if-not-processed' }
}
export const remove = (path: string): Operation => ({ method: 'DELETE', path, retry: 'always' })
export const withConditions = (
  operation: Operation,
  { ifMatch, confirm }: Precondition & Confirmation,
): Operation => {
  const sent = { ...operation, query: { confirm } }
  if (ifMatch === undefined) return sent
  return { ...sent, headers: { 'if-match': ifMatch }, retry: 'always' }
}

/** The parameters of the link to the next page (RFC 8288). */
export function nextPage(headers: Headers, baseUrl: string): URLSearchParams | undefined {
  const [, target] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(headers.get('link') ?? '') ?? []
  if (target === undefined || !URL.canParse(target, baseUrl)) return undefined
  return new URL(target, baseUrl).searchParams
}
