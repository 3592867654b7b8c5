import { setImmediate } from 'node:timers/promises'
import type { CallerLink } from '../../kernel/access/callers.ts'
import { entityTag } from '../../kernel/entity-tags.ts'
import { notFound } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { chunked } from '../../kernel/storage/statements.ts'
import { isActive, isoTime, now } from '../../kernel/values/times.ts'
import { includes, spanUntilExpiry, type Validity } from '../../kernel/values/validity.ts'
import { present } from '../../runtime/present.ts'
import { type KeyUpdate, type KeyUses, keyUses, replacements } from './changes.ts'
import { visibleKeys } from './introduction.ts'
import { activationConvergedTime, convergedTime } from './jwks.ts'
import { findByKid } from './kids.ts'
import { requireKeySet, toJwtKey, toJwtKeyWithDetails } from './operations.ts'
import { keyEntityTag, keyState, type StateSituation, toKeyStateEntry, withUse } from './states.ts'
import type { KeyRecord, KeySet } from './stored.ts'

/** Keys as they are sent. */
export interface KeyDocument {
  /** Text: Node sends it in one write with the header, but bytes in a second one. */
  body: string
  etag: string
}

export interface CachedDocument extends KeyDocument {
  validity: Validity
  /** The uses that it shows; absent if it shows none. */
  uses: KeyUses | undefined
}

/** What was rendered of one key set, by names. */
interface Documents {
  validity: Validity
  rendered: Map<string, Promise<CachedDocument>>
}

/**
 * The store returns the same key set until the project changes, so the uses and the documents, with these
 * uses or of the key set alone, are evicted with their key set and share its bound.
 */
const usesByKeySet = new WeakMap<KeySet, KeyUses>()
const documentsBy = new WeakMap<KeySet | KeyUses, Documents>()

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
 * another project, and for one that did not come through the registration link of the caller.
 */
export async function keyDocument(
  kernel: Kernel,
  projectId: string,
  kid: string,
  link: CallerLink | undefined,
): Promise<CachedDocument> {
  const keySet = await requireKeySet(kernel, projectId)
  const key = findByKid(visibleKeys(keySet.keys, link), kid)
  if (key === undefined) throw notFound('key_not_found')
  // Who verifies the tokens is the project's alone.
  const uses = link === undefined ? await usesOf(kernel, projectId, keySet) : undefined
  return cachedDocument(kernel, { projectId, keySet, uses, name: key.id }, (time) =>
    renderKey(kernel, { key, keySet, uses, time }),
  )
}

/** The state of each key of the project, oldest first. */
export async function statesDocument(kernel: Kernel, projectId: string): Promise<CachedDocument> {
  const keySet = await requireKeySet(kernel, projectId)
  const uses = await usesOf(kernel, projectId, keySet)
  return cachedDocument(kernel, { projectId, keySet, uses, name: 'states' }, async (time) => {
    const situation = await situationOf(kernel, projectId, keySet, time)
    const entries = keySet.keys.map((key) => ({
      ...toKeyStateEntry(key, situation),
      ...present({ use: uses?.of(key) }),
    }))
    const body = JSON.stringify(entries)
    return { body, etag: entityTag(body) }
  })
}

/** A patched key with the warnings, and the tag of the key alone. */
export async function renderUpdate(
  kernel: Kernel,
  { key, warnings }: KeyUpdate,
): Promise<KeyDocument> {
  const keySet = await requireKeySet(kernel, key.projectId)
  const uses = await usesOf(kernel, key.projectId, keySet)
  const shown = { key, keySet, uses, time: now(kernel.clock) }
  return renderKey(kernel, shown, warnings.length > 0 ? { warnings } : {})
}

/** Returns the uses in memory while they are current, and reads them otherwise. Undefined if no feature has uses. */
async function usesOf(
  kernel: Kernel,
  projectId: string,
  keySet: KeySet,
): Promise<KeyUses | undefined> {
  const known = usesByKeySet.get(keySet)
  if (await known?.isCurrent()) return known
  const [found] = await kernel.hooks.run(keyUses, kernel, projectId)
  // Concurrent reads share what they find, but each key set has documents of its own.
  const uses = found && { ...found }
  if (uses !== undefined) usesByKeySet.set(keySet, uses)
  return uses
}

interface ShownKey {
  key: KeyRecord
  keySet: KeySet
  uses: KeyUses | undefined
  /** ISO 8601. */
  time: string
}

/** One key, with these members beside its own. */
async function renderKey(
  kernel: Kernel,
  { key, keySet, uses, time }: ShownKey,
  others: object = {},
): Promise<KeyDocument> {
  const { config } = kernel
  const state = keyState(key, await situationOf(kernel, key.projectId, keySet, time))
  const use = uses?.of(key)
  const { details, ...members } = toJwtKeyWithDetails(key, state, time, config)
  const shown = { ...members, details: { ...details, ...present({ use }) }, ...others }
  const etag = withUse(keyEntityTag(key, state, time, config.jwksMaxAge), use)
  return { body: JSON.stringify(shown), etag }
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

interface KeySetDocument {
  projectId: string
  keySet: KeySet
  uses?: KeyUses | undefined
  name: string
}

/** Documents change with time when a key expires, and when the last verifier learns of a change. */
async function cachedDocument(
  { clock, config }: Kernel,
  { projectId, keySet, uses, name }: KeySetDocument,
  render: (time: string) => Promise<KeyDocument>,
): Promise<CachedDocument> {
  const time = clock.now()
  let documents = documentsBy.get(uses ?? keySet)
  if (documents === undefined || !includes(documents.validity, time)) {
    const ends = keySet.keys.flatMap((key) => [
      key,
      { expireTime: activationConvergedTime(key, config.jwksMaxAge) },
      { expireTime: convergedTime(key, isoTime(time), config.jwksMaxAge) },
    ])
    const heads = [{ ledgerId: projectId, hash: keySet.head }]
    const validity = { heads, ...spanUntilExpiry(ends, time) }
    documents = { validity, rendered: new Map() }
    documentsBy.set(uses ?? keySet, documents)
  }
  const { validity, rendered } = documents
  const known = rendered.get(name)
  if (known !== undefined) return known
  const document = render(isoTime(time)).then((each) => ({ ...each, validity, uses }))
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
