import { PubringError } from '../../errors.ts'
import { isActive } from '../expiry.ts'
import type { KeyRecord } from '../records.ts'

/** The active keys that the key introduced, directly or through others that may be inactive. */
export function activeDescendants(
  keys: readonly KeyRecord[],
  { id }: KeyRecord,
  now: string,
): KeyRecord[] {
  const ids = new Set([id])
  let before: number
  do {
    before = ids.size
    for (const key of keys) if (ids.has(key.introducedBy ?? '')) ids.add(key.id)
  } while (ids.size > before)
  return keys.filter((key) => key.id !== id && ids.has(key.id) && isActive(key, now))
}

/** Whether an active key introduced this one, directly or through others. */
export function hasActiveAncestor(
  keys: readonly KeyRecord[],
  { introducedBy }: KeyRecord,
  now: string,
): boolean {
  const parent = keys.find(({ id }) => id === introducedBy)
  if (parent === undefined) return false
  const others = keys.filter((key) => key !== parent)
  return isActive(parent, now) || hasActiveAncestor(others, parent, now)
}

/** Throws `key_has_descendants`, naming them, if there are any and nothing was decided about them. */
export function requireDecision(
  decision: boolean | undefined,
  descendants: readonly KeyRecord[],
): void {
  if (decision !== undefined || descendants.length === 0) return
  const kids = descendants.map(({ id }) => id)
  throw new PubringError(
    'key_has_descendants',
    `The key vouched for keys that are active, or these for others: ${kids.join(', ')}. If its private key may be in other hands, so may theirs. Send descendants=true in the query to deactivate them too, or descendants=false to leave them as they are.`,
    { kids },
  )
}
