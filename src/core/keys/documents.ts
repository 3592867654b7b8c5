import type { Context, CoreConfig } from '../context.ts'
import { parseId } from '../ids.ts'
import type { KeyRecord, KeySet } from '../records.ts'
import { isoTime } from '../times.ts'
import { isActive } from './jwks.ts'
import { keyNotFound, requireKeySet, toJwtKey, toJwtKeyWithDetails } from './operations.ts'
import { entityTag, shownKeyEntityTag } from './preconditions.ts'

/** What is shown of keys, as it is sent. */
export interface KeyDocument {
  /** Text: Node sends one in a single write with the header, octets in another one. */
  body: string
  etag: string
}

/** One that was made of a key set, and for how long it is as it is. */
export interface CachedDocument extends KeyDocument {
  /** Hash of the last event of the project's ledger. */
  head: string
  /** Epoch milliseconds from and until which each key is as active as it is shown. */
  from: number
  until: number
}

/** Everything that was made of one key set. */
interface Documents extends Pick<CachedDocument, 'head' | 'from' | 'until'> {
  all?: CachedDocument
  active?: CachedDocument
  single: Map<string, CachedDocument>
}

/**
 * The store hands out the same key set as long as nothing of it changes, and what is made of it
 * lives as long as that: the bound of the one in memory is that of the other.
 */
const documentsByKeySet = new WeakMap<KeySet, Documents>()

/** The project's keys, oldest first, all or the active ones; tagged by a digest of the octets. */
export async function listDocument(
  context: Context,
  projectId: string,
  filter: { activeOnly: boolean },
): Promise<CachedDocument> {
  const found = await requireKeySet(context, projectId)
  const time = context.clock.now()
  const documents = documentsOf(found, time)
  const which = filter.activeOnly ? 'active' : 'all'
  documents[which] ??= cached(documents, renderList(found.keys, isoTime(time), filter.activeOnly))
  return documents[which]
}

/** One key of the project; throws `key_not_found`, for another project's key too. */
export async function keyDocument(
  context: Context,
  projectId: string,
  kid: string,
): Promise<CachedDocument> {
  const found = await requireKeySet(context, projectId)
  const time = context.clock.now()
  const documents = documentsOf(found, time)
  const id = parseId(kid)
  const known = id === undefined ? undefined : documents.single.get(id)
  if (known !== undefined) return known
  const key = found.keys.find((candidate) => candidate.id === id)
  if (key === undefined) throw keyNotFound()
  const document = cached(documents, renderKey(key, isoTime(time), context.config))
  documents.single.set(key.id, document)
  return document
}

/** One key as it is at the time given (ISO 8601). */
export function renderKey(key: KeyRecord, time: string, config: CoreConfig): KeyDocument {
  const shown = toJwtKeyWithDetails(key, time, config)
  return { body: JSON.stringify(shown), etag: shownKeyEntityTag(shown) }
}

function documentsOf(found: KeySet, time: number): Documents {
  const known = documentsByKeySet.get(found)
  if (known !== undefined && time >= known.from && time < known.until) return known
  const expiries = found.keys
    .map(({ expireTime }) => (expireTime === undefined ? Number.NaN : Date.parse(expireTime)))
    .filter((expiry) => expiry > time)
  const documents = {
    head: found.head,
    from: time,
    until: Math.min(Number.POSITIVE_INFINITY, ...expiries),
    single: new Map(),
  }
  documentsByKeySet.set(found, documents)
  return documents
}

function cached({ head, from, until }: Documents, document: KeyDocument): CachedDocument {
  return { ...document, head, from, until }
}

function renderList(keys: readonly KeyRecord[], time: string, activeOnly: boolean): KeyDocument {
  const listed = activeOnly ? keys.filter((key) => isActive(key, time)) : keys
  const body = JSON.stringify(listed.map((key) => toJwtKey(key, time)))
  return { body, etag: entityTag(body) }
}
