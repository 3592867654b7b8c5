import type { Event, JwtKey } from '@pubring/client'

/** A key as a list has it. */
export type ListedKey = Pick<
  JwtKey,
  'id' | 'label' | 'algorithm' | 'active' | 'createTime' | 'updateTime' | 'expireTime'
>

/** The known facts about a key. */
export type Life = {
  /** Absent if it does not exist any more. */
  key: ListedKey | undefined
  /** Its own, oldest first. */
  events: Event[]
  /** The time from which `events` are complete, in epoch milliseconds; absent if they all are. */
  completeSince?: number
  /** Epoch milliseconds. */
  now: number
}

/** The members of a key that decide about its state, from `time` until the next version. */
export type Version = { time: number; enabled: boolean; expireTime: number }

/** Whether the event has every member that the key had then. */
const isWhole = (event: Event | undefined) =>
  event?.type === 'key.created' || event?.type === 'key.recorded'

/** The versions that are known, oldest first. */
export function versionsOf(life: Life): Version[] {
  const { events } = life
  const versions = isWhole(events[0]) ? [] : [versionBefore(life)]
  for (const event of events) {
    const { active, expireTime } = event.changes ?? {}
    if (!active && !expireTime && !isWhole(event)) continue
    const last = versions.at(-1)
    versions.push({
      time: Date.parse(event.time),
      enabled: active ? active.to === true : last?.enabled === true,
      expireTime: expireTime || isWhole(event) ? toTime(expireTime?.to) : toTime(last?.expireTime),
    })
  }
  return versions
}

/**
 * The version before the first of the events that have been read: what later events changed is undone,
 * and the rest is as it is now.
 */
function versionBefore({ key, events, completeSince, now }: Life): Version {
  const firstChange = (member: string) =>
    events.find(({ changes }) => changes?.[member])?.changes?.[member]
  const [active, expireTime] = [firstChange('active'), firstChange('expireTime')]
  // A listed key that has expired is switched on, unless an event says otherwise.
  const isOn = key !== undefined && (key.active || toTime(key.expireTime) <= now)
  const registered = key === undefined ? 0 : Date.parse(key.createTime)
  const begin = Math.max(completeSince ?? Date.parse(events[0]?.time ?? ''), registered)
  return {
    // Without events, the key has been as it is now since its last change.
    time: key !== undefined && events.length === 0 ? Date.parse(key.updateTime) : begin,
    enabled: active ? active.from === true : isOn,
    expireTime: toTime(expireTime ? expireTime.from : key?.expireTime),
  }
}

/** Epoch milliseconds of an expiry; Infinity for none. */
export function toTime(value: unknown): number {
  if (typeof value === 'number') return value
  return typeof value === 'string' ? Date.parse(value) : Number.POSITIVE_INFINITY
}
