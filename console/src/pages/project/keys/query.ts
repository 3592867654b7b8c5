import { inOrder, sortedBy } from '../../../components/sorting.ts'
import type { KeyRow } from '../../../keys/queries.ts'
import { keyStates } from '../../../keys/state-words.ts'

export const listMembers = ['q', 'state', 'algorithm', 'sort'] as const

/** The text, the filters and the order of the list, as the address has them; '' does not filter. */
export type ListQuery = Record<(typeof listMembers)[number], string>

export const keyOrders = {
  label: ({ label, id }: KeyRow) => [label.toLowerCase(), id],
  state: ({ state, id }: KeyRow) => [keyStates.indexOf(state), id],
  algorithm: ({ algorithm, id }: KeyRow) => [algorithm, id],
  registered: ({ createTime, id }: KeyRow) => [createTime, id],
  // Never is later than every year.
  expires: ({ expireTime, id }: KeyRow) => [expireTime ?? '~', id],
}

/** The keys that match all but the state, by which they are counted. */
export function matchingKeys(keys: KeyRow[], { q, algorithm }: ListQuery): KeyRow[] {
  const words = q.toLowerCase().trim().split(/\s+/)
  return keys.filter((key) => {
    if (algorithm !== '' && key.algorithm !== algorithm) return false
    const label = key.label.toLowerCase()
    return (
      words.every((word) => label.includes(word)) ||
      key.id.includes(words.join(' ').replace('…', ''))
    )
  })
}

/** In the order, except that compromised keys come first in any. */
export function sortedKeys(keys: KeyRow[], sort: string): KeyRow[] {
  const sorted = inOrder(keys, keyOrders, sort)
  return sortedBy(sorted, ({ state }) => [state === 'compromised' ? 0 : 1])
}
