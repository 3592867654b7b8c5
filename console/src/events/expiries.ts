import { type Expiry, expiriesOf, type HistoryEvent, type JwtKey } from '@pubring/client'
import { expiredType, type Filter, typesOf } from './filter.ts'

/** A history shows events and expiries. */
export type Entry = { event: HistoryEvent; time: string } | { expiry: Expiry; time: string }

type ListedKey = Pick<JwtKey, 'id' | 'label' | 'expireTime'>

type Known = {
  /** The keys that exist now; undefined for more than one project, of which no expiries are shown. */
  keys: ListedKey[] | undefined
  filter: Filter
  /** Whether there are events before the first of those that are known. */
  hasOlder: boolean
  /** Epoch milliseconds. */
  now: number
}

/** The entries that match the filter, newest first, of events that the service selected by it. */
export function entriesOf(events: HistoryEvent[], { keys, filter, hasOlder, now }: Known): Entry[] {
  const { person, actor, subject, requestId, since, until } = filter
  const types = typesOf(filter)
  const isChosen = (type: string) => types.length === 0 || types.includes(type)
  const oldest = hasOlder ? Date.parse(events.at(-1)?.time ?? '') : Number.NEGATIVE_INFINITY
  const from = since === '' ? oldest : Math.max(oldest, Date.parse(since))
  const to = until === '' ? now : Date.parse(until)
  const expiries = expiriesOf(events, keys ?? [], now).filter(({ kid, time }) => {
    const at = Date.parse(time)
    return (subject === '' || subject.split(',').includes(kid)) && from <= at && at <= to
  })
  const mayExpire = keys !== undefined && [person, actor, requestId].every((each) => each === '')
  const shown = isChosen(expiredType) && mayExpire ? expiries : []
  return [
    ...events.flatMap((event) => (isChosen(event.type) ? [{ event, time: event.time }] : [])),
    ...shown.map((expiry) => ({ expiry, time: expiry.time })),
  ].sort((one, other) => Date.parse(other.time) - Date.parse(one.time))
}
