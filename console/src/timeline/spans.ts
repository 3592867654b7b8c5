import type { Event, JwtKey, JwtKeyWithDetails, Rotation } from '@pubring/client'
import { keyStates } from '../keys/state-words.ts'

/** The states of keys; `unknown`: registered, but the events of that time have not been read. */
export const spanStates = [...keyStates, 'unknown'] as const
export type SpanState = (typeof spanStates)[number]

/** From `from` until before `to`, both epoch milliseconds; `to` is Infinity if no end is known. */
export type Span = { state: SpanState; from: number; to: number }

/** The life of one key. Its spans are in order and without gaps; `events` are its own, oldest first. */
export type KeyBar = {
  kid: string
  label: string
  isDeleted: boolean
  spans: Span[]
  events: Event[]
}

export type BarInput = Pick<Life, 'completeSince' | 'now'> & {
  keys: ListedKey[]
  /** Events of the project, oldest first. Those without a key as their subject are ignored. */
  events: Event[]
  rotations: Pick<Rotation, 'from' | 'to' | 'createTime' | 'state' | 'endTime'>[]
  /** How long verifiers may take to learn of a change, in milliseconds. */
  spreadMs: number
}

/** One bar for each key that exists or that the events tell of, in order of registration. */
export function keyBars(input: BarInput): KeyBar[] {
  const { keys, events, rotations } = input
  const own = Map.groupBy(
    events.filter(({ subject }) => subject.type === 'key'),
    ({ subject }) => subject.id,
  )
  const listed = new Map(keys.map((key) => [key.id, key]))
  const bars = [...new Set([...own.keys(), ...listed.keys()])].map((kid) =>
    keyBar(kid, { ...input, key: listed.get(kid), events: own.get(kid) ?? [] }, input.spreadMs),
  )
  const byKid = new Map(bars.map((bar) => [bar.kid, bar]))
  for (const rotation of rotations) {
    const [from, to] = [byKid.get(rotation.from), byKid.get(rotation.to)]
    if (from && to) from.spans = markRotation(from.spans, to.spans, rotation)
  }
  for (const bar of bars) bar.spans = markCompromised(bar)
  return bars.sort((one, other) => startOf(one) - startOf(other))
}

export const spanAt = ({ spans }: Pick<KeyBar, 'spans'>, time: number): Span | undefined =>
  spans.find(({ from, to }) => from <= time && time < to)

/** Whether verifiers accept the key, at least some of them. */
export const isPublished = (state: SpanState): boolean =>
  !['off', 'expired', 'unknown'].includes(state)

const startOf = ({ spans }: KeyBar) => spans[0]?.from ?? 0

/**
 * How long verifiers may take to learn of a change, in milliseconds: `convergedTime` of a key after
 * the change that it is of.
 */
export function spreadOf(
  key: Pick<JwtKeyWithDetails, 'id' | 'updateTime' | 'expireTime'> & {
    details: Pick<JwtKeyWithDetails['details'], 'convergedTime'>
  },
  events: Event[],
  now: number,
): number {
  const change = events.findLast(
    ({ subject, changes, type }) =>
      subject.id === key.id && (type === 'key.created' || changes?.active || changes?.expireTime),
  )
  const expiry = toTime(key.expireTime)
  const changed = Date.parse(change?.time ?? key.updateTime)
  const last = expiry <= now ? Math.max(changed, expiry) : changed
  return Date.parse(key.details.convergedTime) - last
}

function keyBar(kid: string, life: Life, spreadMs: number): KeyBar {
  const { key, events } = life
  const deletion = events.findLast(({ type }) => type === 'key.deleted')
  const end = deletion === undefined ? Number.POSITIVE_INFINITY : Date.parse(deletion.time)
  const versions = versionsOf(life)
  const known = versions.flatMap((version, at) =>
    spansOfVersion(version, Math.min(versions[at + 1]?.time ?? end, end)),
  )
  const registered = key === undefined ? end : Date.parse(key.createTime)
  const knownSince = known[0]?.from ?? end
  const unknown: Span = { state: 'unknown', from: registered, to: knownSince }
  return {
    kid,
    label: lastLabel(events) ?? key?.label ?? '',
    isDeleted: deletion !== undefined,
    spans: [...(registered < knownSince ? [unknown] : []), ...markSpreading(known, spreadMs)],
    events,
  }
}

/** The newest label of a key that its events have. */
function lastLabel(events: Event[]): string | undefined {
  const change = events.findLast(({ changes }) => changes?.label)?.changes?.label
  const value = change?.to ?? change?.from
  return value === undefined ? undefined : String(value)
}

/** The spans of a version until `end`, as if verifiers learned of changes at once. */
function spansOfVersion({ time, enabled, expireTime }: Version, end: number): Span[] {
  if (!enabled) return nonEmpty([{ state: 'off', from: time, to: end }])
  const expiry = Math.min(Math.max(expireTime, time), end)
  return nonEmpty([
    { state: 'current', from: time, to: expiry },
    { state: 'expired', from: expiry, to: end },
  ])
}

const nonEmpty = (spans: Span[]) => spans.filter(({ from, to }) => from < to)

/** Neighbors of the same state become one. */
function merge(spans: Span[]): Span[] {
  const merged: Span[] = []
  for (const span of spans) {
    const last = merged.at(-1)
    if (last?.state === span.state && last.to === span.from) last.to = span.to
    else merged.push({ ...span })
  }
  return merged
}

/** Gives the part between `from` and `to` of those spans that `applies` selects another state. */
function paint(spans: Span[], part: Span, applies: (state: SpanState) => boolean): Span[] {
  const painted = spans.flatMap((span) => {
    const from = Math.max(span.from, part.from)
    const to = Math.min(span.to, part.to)
    if (!applies(span.state) || from >= to) return [span]
    const { state } = part
    return nonEmpty([
      { ...span, to: from },
      { state, from, to },
      { ...span, from: to },
    ])
  })
  return merge(painted)
}

/** A key spreads from each time at which it is published. */
function markSpreading(spans: Span[], spreadMs: number): Span[] {
  const published = spans.filter(
    ({ state }, at) => isPublished(state) && !isPublished(spans[at - 1]?.state ?? 'off'),
  )
  return published.reduce(
    (marked, { from }) =>
      paint(marked, { state: 'spreading', from, to: from + spreadMs }, isPublished),
    merge(spans),
  )
}

/** The spans of the old key of a rotation, given those of its new key. */
function markRotation(from: Span[], to: Span[], rotation: BarInput['rotations'][number]): Span[] {
  const start = Date.parse(rotation.createTime)
  const end = toTime(rotation.state === 'abandoned' ? rotation.endTime : undefined)
  const known = to.find((span) => isKnown(span.state) && span.to > start)
  if (known === undefined) return from
  const overlap = { from: Math.max(start, known.from), to: end }
  return paint(from, { state: 'previous', ...overlap }, isKnown)
}

const isKnown = (state: SpanState) => isPublished(state) && state !== 'spreading'

function markCompromised({ spans, events }: KeyBar): Span[] {
  const event = events.find(({ changes }) => changes?.reason?.to === 'compromised')
  if (event === undefined) return spans
  const rest = { from: Date.parse(event.time), to: Number.POSITIVE_INFINITY }
  return paint(spans, { state: 'compromised', ...rest }, isPublished)
}

type ListedKey = Pick<
  JwtKey,
  'id' | 'label' | 'active' | 'createTime' | 'updateTime' | 'expireTime'
>

type Life = {
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
type Version = { time: number; enabled: boolean; expireTime: number }

/** Whether the event has every member that the key had then. */
const isWhole = (event: Event | undefined) =>
  event?.type === 'key.created' || event?.type === 'key.recorded'

function versionsOf(life: Life): Version[] {
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

/** The version before the first event that was read: what later events changed is undone. */
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
function toTime(value: unknown): number {
  if (typeof value === 'number') return value
  return typeof value === 'string' ? Date.parse(value) : Number.POSITIVE_INFINITY
}
