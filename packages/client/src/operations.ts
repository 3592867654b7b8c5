import type { CallOptions, Confirmation, Precondition } from './options.ts'
import type { Operation, Transport } from './transport/transport.ts'

/**
 * Sends an operation and resolves with its body, whose type is the service's contract
 * (test/client/types.test.ts).
 */
export type Send = <Body>(operation: Operation, options?: CallOptions) => Promise<Body>

export function createSend(transport: Transport): Send {
  return async <Body>(operation: Operation, { signal, retries }: CallOptions = {}) => {
    const { body } = await transport.send({ ...operation, signal, retries })
    return body as Body
  }
}

/** Reads a page of a list, and where the next one begins, by the link to it (RFC 8288). */
export async function readPage<Item>(transport: Transport, operation: Operation) {
  const { body, headers } = await transport.send(operation)
  const [, link = ''] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(headers.get('link') ?? '') ?? []
  const query = URL.canParse(link, transport.url) ? new URL(link, transport.url).searchParams : null
  const [after, before] = [query?.get('after'), query?.get('before')]
  const next = { ...(after && { after }), ...(before && { before }) }
  return { items: body as Item[], ...((after || before) && { next }) }
}

/** A page of a list whose next page begins after `next`. */
export async function readPageAfter<Item>(
  transport: Transport,
  operation: Operation,
): Promise<{ items: Item[]; next?: string }> {
  const { items, next } = await readPage<Item>(transport, operation)
  return { items, ...(next?.after && { next: next.after }) }
}

export const read = (path: string, member = 'id'): Operation => {
  return { method: 'GET', path, retry: 'always', member }
}
export const readList = (path: string, query: Operation['query'] = {}): Operation => {
  return { method: 'GET', path, retry: 'always', query, list: true }
}
/** A POST that stores something. Not retried if it may have succeeded. */
export const create = (path: string, body?: object, member = 'id'): Operation => {
  return { method: 'POST', path, retry: 'if-not-processed', member, ...(body && { body }) }
}
/** A POST that stores nothing, or the same when it is repeated. */
export const repeatable = (path: string, body: object | undefined, member: string): Operation => {
  return { ...create(path, body, member), retry: 'always' }
}
/**
 * A repeated patch could undo another caller's change made in between. Deactivation is retried all
 * the same: taking effect matters more.
 */
export const patch = (path: string, body: object): Operation => {
  const deactivates = JSON.stringify(body) === '{"active":false}'
  const retry = deactivates ? 'always' : 'if-not-processed'
  return { method: 'PATCH', path, body, retry, member: 'id' }
}
export const remove = (path: string): Operation => {
  return { method: 'DELETE', path, retry: 'always', empty: true }
}
export const withConditions = (
  operation: Operation,
  { ifMatch, confirm }: Precondition & Confirmation = {},
): Operation => {
  const sent = { ...operation, query: { confirm } }
  if (ifMatch === undefined) return sent
  return { ...sent, headers: { 'if-match': ifMatch }, retry: 'always' }
}
