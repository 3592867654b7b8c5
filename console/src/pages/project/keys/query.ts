import { inOrder, sortedBy } from '../../../components/sorting.ts'
import type { KeyRow } from '../../../keys/queries.ts'
import { keyStates } from '../../../keys/state-words.ts'

const dayMs = 86_400_000

export const listMembers = ['q', 'state', 'algorithm', 'expires', 'sort'] as const

/** The text, the filters and the order of the list, as the address has them; '' does not filter. */
export type ListQuery = Record<(typeof listMembers)[number], string>

export const expiryLabels: Record<string, string> = {
  '': 'Any expiry',
  '7': 'Expires within 7 days',
  '30': 'Expires within 30 days',
  '90': 'Expires within 90 days',
  never: 'Never expires',
}

export const keyOrders = {
  label: ({ label, id }: KeyRow) => [label.toLowerCase(), id],
  state: ({ state, id }: KeyRow) => [keyStates.indexOf(state), id],
  algorithm: ({ algorithm, id }: KeyRow) => [algorithm, id],
  registered: ({ createTime, id }: KeyRow) => [createTime, id],
  // Never is later than every year.
  expires: ({ expireTime, id }: KeyRow) => [expireTime ?? '~', id],
}

/** The keys that match all but the state, by which they are counted. */
export function matchingKeys(keys: KeyRow[], query: ListQuery, now: number): KeyRow[] {
  const { algorithm, expires } = query
  const words = query.q.toLowerCase().trim().split(/\s+/)
  const until = now + Number(expires) * dayMs
  return keys.filter((key) => {
    if (algorithm !== '' && key.algorithm !== algorithm) return false
    if (expires === 'never' && key.expireTime !== undefined) return false
    if (Number(expires) > 0 && !expiresBetween(key, now, until)) return false
    const label = key.label.toLowerCase()
    return (
      words.every((word) => label.includes(word)) ||
      key.id.includes(words.join(' ').replace('…', ''))
    )
  })
}

function expiresBetween({ expireTime }: KeyRow, from: number, until: number): boolean {
  const time = expireTime === undefined ? Number.NaN : Date.parse(expireTime)
  return time > from && time <= until
}

/** In the order, except that compromised keys come first in any. */
export function sortedKeys(keys: KeyRow[], sort: string): KeyRow[] {
  const sorted = inOrder(keys, keyOrders, sort)
  return sortedBy(sorted, ({ state }) => [state === 'compromised' ? 0 : 1])
}
