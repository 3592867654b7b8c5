import { present } from '../runtime/present.ts'
import type { RequestContext } from './access/principal.ts'
import type { ChangeKind, RecordChange } from './changes.ts'
import { type NotFoundCode, notFound } from './faults.ts'
import type { RecordReference } from './records.ts'
import { parseId } from './values/ids.ts'

/** A change of a record. Throws the not-found error `code` if the id is malformed. */
export function changeOf(
  { origin, config }: RequestContext,
  { id, ifMatch, confirm }: RecordReference,
  code: NotFoundCode,
) {
  const provider = config.oidc?.issuer
  return { ...present({ ifMatch, confirm, provider }), origin, id: requireId(id, code) }
}

/** The operation that deletes a record of one kind. */
export function deletionOf(kind: ChangeKind<RecordChange, undefined>, code: NotFoundCode) {
  return async (context: RequestContext, record: RecordReference): Promise<void> => {
    await context.store.commit(kind, changeOf(context, record, code))
  }
}

export function requireId(text: string, code: NotFoundCode): string {
  const id = parseId(text)
  if (id === undefined) throw notFound(code)
  return id
}
