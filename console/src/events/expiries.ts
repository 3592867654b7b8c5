import type { Event, JwtKey } from '../../../client/src/index.ts'
import { expiredType, type Filter, typesOf } from './filter.ts'

/** A key that expired at `time`. */
export type Expiry = { kid: string; label: string; time: string }

/** What a history shows: an event, or an expiry. */
export type Entry = { event: Event; time: string } | { expiry: Expiry; time: string }

type ListedKey = Pick<JwtKey, 'id' | 'label' | 'expireTime'>

type Known = {
  /** The keys that exist now. */
  keys: ListedKey[]
  filter: Filter
  /** Whether there are events before the first of those that are known. */
  hasOlder: boolean
  /** Epoch milliseconds. */
  now: number
}

/** The entries that match the filter, newest first, of events that the service selected by it. */
export function entriesOf(events: Event[], { keys, filter, hasOlder, now }: Known): Entry[] {
  const { actor, subject, since, until } = filter
  const types = typesOf(filter)
  const isChosen = (type: string) => types.length === 0 || types.includes(type)
  const oldest = hasOlder ? Date.parse(events.at(-1)?.time ?? '') : Number.NEGATIVE_INFINITY
  const from = since === '' ? oldest : Math.max(oldest, Date.parse(since))
  const to = until === '' ? now : Date.parse(until)
  const expiries = expiriesOf(events, keys, now).filter(({ kid, time }) => {
    const at = Date.parse(time)
    return (subject === '' || kid === subject) && from <= at && at <= to
  })
  const shown = isChosen(expiredType) && actor === '' ? expiries : []
  return [
    ...events.flatMap((event) => (isChosen(event.type) ? [{ event, time: event.time }] : [])),
    ...shown.map((expiry) => ({ expiry, time: expiry.time })),
  ].sort((one, other) => Date.parse(other.time) - Date.parse(one.time))
}

/**
 * An expiry counts if it passed before it was changed or the key was deleted, and before `now`. Of the
 * time before the first of `events`, only those of keys that still have them are known.
 */
function expiriesOf(events: Event[], keys: ListedKey[], now: number): Expiry[] {
  const found = new Map<string, Expiry>()
  const add = (expiry: { kid: string; label: string; time: unknown }, before: number) => {
    const { kid, label, time } = expiry
    if (typeof time !== 'string' || Date.parse(time) > before) return
    found.set(`${kid} ${time}`, { kid, label, time })
  }
  for (const { id, label, expireTime } of keys) add({ kid: id, label, time: expireTime }, now)
  const ofKeys = events.filter(({ subject }) => subject.type === 'key')
  for (const [kid, newestFirst] of Map.groupBy(ofKeys, ({ subject }) => subject.id)) {
    let end = now
    for (const { type, changes, time, label = '' } of newestFirst) {
      const change = changes?.expireTime
      const at = Date.parse(time)
      add({ kid, label, time: change?.to }, end)
      add({ kid, label, time: change?.from }, at)
      if (change !== undefined || type === 'key.deleted') end = at
    }
  }
  return [...found.values()]
}
