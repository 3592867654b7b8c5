import type { Event, JwtKey } from './types.ts'

/** A key that expired at `time`; `setBy` is the event that set this end, if it is among those given. */
export type Expiry = { kid: string; label: string; time: string; setBy?: Event }

/**
 * When keys expired. The ledger records changes, and no change is made when the time comes, so a history
 * that is to show expiries derives them with this function. `events`: newest first; `keys`: those that
 * exist. An expiry is included if its time passed before it was changed, before the key was deleted, and
 * before `now` (epoch milliseconds). Expiries before the oldest of `events` are found only for keys that
 * still have them.
 *
 * @example
 * const events = await Array.fromAsync(client.events.all({ project, order: 'desc' }))
 * const expiries = expiriesOf(events, await client.keys.list(project), Date.now())
 */
export function expiriesOf(
  events: readonly Event[],
  keys: readonly Pick<JwtKey, 'id' | 'label' | 'expireTime'>[],
  now: number,
): Expiry[] {
  const found = new Map<string, Expiry>()
  const add = (expiry: Omit<Expiry, 'time'> & { time: unknown }, before: number) => {
    const { kid, time } = expiry
    if (typeof time !== 'string' || Date.parse(time) > before) return
    found.set(`${kid} ${time}`, { ...expiry, time })
  }
  for (const { id, label, expireTime } of keys) add({ kid: id, label, time: expireTime }, now)
  const ofKeys = events.filter(({ subject }) => subject.type === 'key')
  for (const [kid, newestFirst] of Map.groupBy(ofKeys, ({ subject }) => subject.id)) {
    let end = now
    for (const event of newestFirst) {
      const { type, changes, time, label = '' } = event
      const change = changes?.expireTime
      const at = Date.parse(time)
      add({ kid, label, time: change?.to, setBy: event }, end)
      add({ kid, label, time: change?.from }, at)
      if (change !== undefined || type === 'key.deleted') end = at
    }
  }
  return [...found.values()]
}
