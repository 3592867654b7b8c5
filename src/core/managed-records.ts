import type { PubringError } from '../errors.ts'
import type { RequestContext } from './access/principal.ts'
import { parseId } from './ids.ts'
import type { RecordReference } from './records.ts'

/** What every change of a record says. Throws `notFound` for a text that is no id. */
export function changeOf(
  { origin }: RequestContext,
  { id, ifMatch }: RecordReference,
  notFound: () => PubringError,
) {
  return { origin, id: requireId(id, notFound), ...(ifMatch === undefined ? {} : { ifMatch }) }
}

export function requireId(text: string, notFound: () => PubringError): string {
  const id = parseId(text)
  if (id === undefined) throw notFound()
  return id
}
