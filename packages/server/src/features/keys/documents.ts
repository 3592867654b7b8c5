import { setImmediate } from 'node:timers/promises'
import type { CallerLink } from '../../kernel/access/callers.ts'
import { entityTag } from '../../kernel/entity-tags.ts'
import { notFound } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { chunked } from '../../kernel/storage/statements.ts'
import { isActive, isoTime, now } from '../../kernel/values/times.ts'
import { intersect, spanUntilExpiry, type Validity } from '../../kernel/values/validity.ts'
import { present } from '../../runtime/present.ts'
import { type KeyUpdate, type KeyUses, keyUses, replacements } from './changes.ts'
import { visibleKeys } from './introduction.ts'
import { activationConvergedTime, convergedTime } from './jwks.ts'
import { findByKid } from './kids.ts'
import { requireKeySet, toJwtKey, toJwtKeyWithDetails } from './operations.ts'
import { keyEntityTag, type StateSituation, toKeyStateEntry } from './states.ts'
import type { KeyRecord, KeySet } from './stored.ts'

/** Keys as they are sent. */
export interface KeyDocument {
  /** Text: Node sends it in one write with the header, but bytes in a second one. */
  body: string
  etag: string
}

export interface ReusableDocument extends KeyDocument {
  /** Undefined if its parts were read at different times. */
  validity: Validity | undefined
}

/** The project's keys, oldest first, all or only active ones; the tag is a digest of the bytes. */
export async function listDocument(
  kernel: Kernel,
  projectId: string,
  filter: { activeOnly: boolean },
): Promise<ReusableDocument> {
  const keySet = await requireKeySet(kernel, projectId)
  return reusable(kernel, { projectId, keySet }, (time) =>
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
): Promise<ReusableDocument> {
  const keySet = await requireKeySet(kernel, projectId)
  const key = findByKid(visibleKeys(keySet.keys, link), kid)
  if (key === undefined) throw notFound('key_not_found')
  // Who verifies the tokens is the project's alone.
  const uses = link === undefined ? await usesOf(kernel, projectId) : undefined
  return reusable(kernel, { projectId, keySet, uses }, (time) =>
    renderKey(kernel, { key, keySet, uses, time }),
  )
}

/** The state of each key of the project, oldest first. */
export async function statesDocument(kernel: Kernel, projectId: string): Promise<ReusableDocument> {
  const keySet = await requireKeySet(kernel, projectId)
  const uses = await usesOf(kernel, projectId)
  return reusable(kernel, { projectId, keySet, uses }, async (time) => {
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
  const uses = await usesOf(kernel, key.projectId)
  const shown = { key, keySet, uses, time: now(kernel.clock) }
  return renderKey(kernel, shown, warnings.length > 0 ? { warnings } : {})
}

/** Undefined if no feature has uses. */
async function usesOf(kernel: Kernel, projectId: string): Promise<KeyUses | undefined> {
  const [uses] = await kernel.hooks.run(keyUses, kernel, projectId)
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
  const situation = await situationOf(kernel, key.projectId, keySet, time)
  const shown = toJwtKeyWithDetails(key, situation, uses?.of(key))
  return { body: JSON.stringify({ ...shown, ...others }), etag: keyEntityTag(key, shown, time) }
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
async function reusable(
  { clock, config }: Kernel,
  { projectId, keySet, uses }: { projectId: string; keySet: KeySet; uses?: KeyUses | undefined },
  render: (time: string) => Promise<KeyDocument>,
): Promise<ReusableDocument> {
  const time = clock.now()
  const ends = keySet.keys.flatMap((key) => [
    key,
    { expireTime: activationConvergedTime(key, config.jwksMaxAge) },
    { expireTime: convergedTime(key, isoTime(time), config.jwksMaxAge) },
  ])
  const own = {
    heads: [{ ledgerId: projectId, hash: keySet.head }],
    ...spanUntilExpiry(ends, time),
  }
  const validity = uses === undefined ? own : intersect(own, uses.validity)
  return { ...(await render(isoTime(time))), validity }
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
