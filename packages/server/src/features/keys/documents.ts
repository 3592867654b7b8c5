import { setImmediate } from 'node:timers/promises'
import type { CoreConfig } from '../../kernel/context.ts'
import { entityTag } from '../../kernel/entity-tags.ts'
import { notFound } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { chunked } from '../../kernel/storage/statements.ts'
import { isActive, isoTime, now } from '../../kernel/values/times.ts'
import { includes, spanUntilExpiry, type Validity } from '../../kernel/values/validity.ts'
import { type KeyUpdate, replacements } from './changes.ts'
import type { KeyState } from './contract.ts'
import { activationConvergedTime, convergedTime } from './jwks.ts'
import { findByKid } from './kids.ts'
import { requireKeySet, toJwtKey, toJwtKeyWithDetails } from './operations.ts'
import { keyEntityTag, keyState, type StateSituation, toKeyStateEntry } from './states.ts'
import type { KeyRecord, KeySet } from './stored.ts'

/** Keys as they are sent. */
export interface KeyDocument {
  /** Text: Node sends it in one write with the header, but bytes in a second one. */
  body: string
  etag: string
}

export interface CachedDocument extends KeyDocument {
  validity: Validity
}

/** Everything that was rendered of one key set: its lists by their names, and each key by its id. */
interface Documents {
  validity: Validity
  rendered: Map<string, Promise<CachedDocument>>
}

/**
 * The store returns the same key set until the project changes, so the documents are evicted with
 * their key set and share its bound.
 */
const documentsByKeySet = new WeakMap<KeySet, Documents>()

/** The project's keys, oldest first, all or only active ones; the tag is a digest of the bytes. */
export async function listDocument(
  kernel: Kernel,
  projectId: string,
  filter: { activeOnly: boolean },
): Promise<CachedDocument> {
  const keySet = await requireKeySet(kernel, projectId)
  const name = filter.activeOnly ? 'active' : 'all'
  return cachedDocument(kernel, { projectId, keySet, name }, (time) =>
    renderList(keySet.keys, time, filter.activeOnly),
  )
}

/**
 * The key of the project with this id or `publishedKid`. Throws `key_not_found`, also for a key of
 * another project.
 */
export async function keyDocument(
  kernel: Kernel,
  projectId: string,
  kid: string,
): Promise<CachedDocument> {
  const keySet = await requireKeySet(kernel, projectId)
  const key = findByKid(keySet.keys, kid)
  if (key === undefined) throw notFound('key_not_found')
  return cachedDocument(kernel, { projectId, keySet, name: key.id }, async (time) => {
    const state = keyState(key, await situationOf(kernel, projectId, keySet, time))
    return renderKey(key, state, time, kernel.config)
  })
}

/** The state of each key of the project, oldest first. */
export async function statesDocument(kernel: Kernel, projectId: string): Promise<CachedDocument> {
  const keySet = await requireKeySet(kernel, projectId)
  return cachedDocument(kernel, { projectId, keySet, name: 'states' }, async (time) => {
    const situation = await situationOf(kernel, projectId, keySet, time)
    const body = JSON.stringify(keySet.keys.map((key) => toKeyStateEntry(key, situation)))
    return { body, etag: entityTag(body) }
  })
}

/** A patched key with the warnings, and the tag of the key alone. */
export async function renderUpdate(
  kernel: Kernel,
  { key, warnings }: KeyUpdate,
): Promise<KeyDocument> {
  const time = now(kernel.clock)
  const keySet = await requireKeySet(kernel, key.projectId)
  const state = keyState(key, await situationOf(kernel, key.projectId, keySet, time))
  return renderKey(key, state, time, kernel.config, warnings.length > 0 ? { warnings } : {})
}

/** One key as it is at the time (ISO 8601), with these members beside its own. */
function renderKey(
  key: KeyRecord,
  state: KeyState,
  time: string,
  config: CoreConfig,
  others: object = {},
): KeyDocument {
  const body = JSON.stringify({ ...toJwtKeyWithDetails(key, state, time, config), ...others })
  return { body, etag: keyEntityTag(key, state, time, config.jwksMaxAge) }
}

/** Everything that the states of the keys depend on. */
export async function situationOf(
  { hooks, store, config }: Pick<Kernel, 'hooks' | 'store' | 'config'>,
  projectId: string,
  { keys }: KeySet,
  time: string,
): Promise<StateSituation> {
  const found = await hooks.run(replacements, store.reader, projectId)
  return { keys, replacements: found.flat(), time, jwksMaxAge: config.jwksMaxAge }
}

/** Documents change with time when a key expires, and when the last verifier learns of a change. */
async function cachedDocument(
  { clock, config }: Kernel,
  { projectId, keySet, name }: { projectId: string; keySet: KeySet; name: string },
  render: (time: string) => Promise<KeyDocument>,
): Promise<CachedDocument> {
  const time = clock.now()
  let documents = documentsByKeySet.get(keySet)
  if (documents === undefined || !includes(documents.validity, time)) {
    const ends = keySet.keys.flatMap((key) => [
      key,
      { expireTime: activationConvergedTime(key, config.jwksMaxAge) },
      { expireTime: convergedTime(key, isoTime(time), config.jwksMaxAge) },
    ])
    const heads = [{ ledgerId: projectId, hash: keySet.head }]
    documents = { validity: { heads, ...spanUntilExpiry(ends, time) }, rendered: new Map() }
    documentsByKeySet.set(keySet, documents)
  }
  const { validity, rendered } = documents
  const known = rendered.get(name)
  if (known !== undefined) return known
  const document = render(isoTime(time)).then((each) => ({ ...each, validity }))
  rendered.set(name, document)
  document.catch(() => rendered.delete(name))
  return document
}

/** Other requests are served while a list of thousands is written. */
async function renderList(
  keys: readonly KeyRecord[],
  time: string,
  activeOnly: boolean,
): Promise<KeyDocument> {
  const listed = activeOnly ? keys.filter((key) => isActive(key, time)) : keys
  const texts: string[] = []
  for (const chunk of chunked(listed)) {
    if (texts.length > 0) await setImmediate()
    texts.push(...chunk.map((key) => JSON.stringify(toJwtKey(key, time))))
  }
  const body = `[${texts.join()}]`
  return { body, etag: entityTag(body) }
}
