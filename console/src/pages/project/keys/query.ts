import type { KeyState } from '@pubring/client'
import { useMemo } from 'react'
import { useSearchParams } from 'wouter'
import { sortedBy } from '../../../components/sorting.ts'
import { keyStates } from '../../../keys/state-words.ts'
import type { KeyRow } from '../../../keys/states.ts'

const dayMs = 86_400_000

/** The filters and the order of the list; '' does not filter. They are in the URL. */
export type ListQuery = {
  text: string
  state: KeyState | ''
  algorithm: string
  /** Within how many days, or never. */
  expiry: '' | '7' | '30' | '90' | 'never'
  sort: SortOrder
  descending: boolean
}

export const expiryLabels: Record<ListQuery['expiry'], string> = {
  '': 'Any expiry',
  '7': 'Expires within 7 days',
  '30': 'Expires within 30 days',
  '90': 'Expires within 90 days',
  never: 'Never expires',
}

const orders = {
  label: ({ label }: KeyRow) => label.toLowerCase(),
  state: ({ state }: KeyRow) => String(keyStates.indexOf(state)),
  algorithm: ({ algorithm }: KeyRow) => algorithm,
  registered: ({ createTime }: KeyRow) => createTime,
  // Never is later than every year.
  expires: ({ expireTime }: KeyRow) => expireTime ?? '~',
}

type SortOrder = keyof typeof orders

export const isOrder = (name: string): name is SortOrder => Object.hasOwn(orders, name)
const isExpiry = (text: string): text is ListQuery['expiry'] => Object.hasOwn(expiryLabels, text)

/** Newest first. */
const defaultSort = '-registered'

/** The query of the list, in the URL. Values that it does not know are ignored. */
export function useListQuery(): [ListQuery, (part: Partial<ListQuery>) => void] {
  const [params, setParams] = useSearchParams()
  const query = useMemo(() => parse(params), [params])
  const change = (part: Partial<ListQuery>) =>
    setParams(format({ ...query, ...part }), { replace: true })
  return [query, change]
}

function parse(params: URLSearchParams): ListQuery {
  const read = (name: string) => params.get(name) ?? ''
  const sort = params.get('sort') ?? defaultSort
  const order = sort.replace(/^-/, '')
  const expiry = read('expires')
  return {
    text: read('q'),
    state: keyStates.find((state) => state === read('state')) ?? '',
    algorithm: read('algorithm'),
    expiry: isExpiry(expiry) ? expiry : '',
    sort: isOrder(order) ? order : 'registered',
    descending: sort.startsWith('-'),
  }
}

function format({ text, state, algorithm, expiry, sort, descending }: ListQuery): URLSearchParams {
  const order = `${descending ? '-' : ''}${sort}`
  const members = {
    q: text,
    state,
    algorithm,
    expires: expiry,
    sort: order === defaultSort ? '' : order,
  }
  return new URLSearchParams(Object.entries(members).filter(([, value]) => value !== ''))
}

/** The keys that match all but the state, by which they are counted. */
export function matchingKeys(keys: KeyRow[], query: ListQuery, now: number): KeyRow[] {
  const { algorithm, expiry } = query
  const words = query.text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  const until = expiry === '' || expiry === 'never' ? undefined : now + Number(expiry) * dayMs
  return keys.filter((key) => {
    if (algorithm !== '' && key.algorithm !== algorithm) return false
    if (expiry === 'never' && key.expireTime !== undefined) return false
    if (until !== undefined && !expiresBetween(key, now, until)) return false
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
export function sortedKeys(keys: KeyRow[], { sort, descending }: ListQuery): KeyRow[] {
  const sorted = sortedBy(keys, (key) => [orders[sort](key), key.id], descending)
  return sortedBy(sorted, ({ state }) => [state === 'compromised' ? 0 : 1])
}
