import { expect, test } from 'vitest'
import { type BarInput, keyBars, spreadOf } from '../../console/src/timeline/spans.ts'
import { resize, ticks, windowOfAll } from '../../console/src/timeline/window.ts'
import type { Event, Rotation } from '../../packages/client/src/index.ts'

const minute = 60_000
const day = 86_400_000
const start = Date.parse('2026-03-01T00:00:00.000Z')
/** The time `days` after the start. */
const at = (days: number) => start + days * day
const iso = (days: number) => new Date(at(days)).toISOString()

let revision = 0
function event(kid: string, days: number, type: string, changes: Event['changes'] = {}): Event {
  revision += 1
  const [id, actor] = [kid, { name: 'ada' }]
  const subject = { type: 'key' as const, id }
  return { revision, type, time: iso(days), actor, subject, changes, requestId: '', hash: '' }
}
const created = (kid: string, days: number, changes: Event['changes'] = {}) =>
  event(kid, days, 'key.created', { label: { to: kid }, active: { to: true }, ...changes })
const switched = (kid: string, days: number, on: boolean) =>
  event(kid, days, 'key.updated', { active: { from: !on, to: on } })
const expiry = (kid: string, days: number, from?: number, to?: number) =>
  event(kid, days, 'key.updated', {
    expireTime: { ...(from && { from: iso(from) }), ...(to && { to: iso(to) }) },
  })

type Key = BarInput['keys'][number]
const key = (id: string, days: number, more: Partial<Key> = {}): Key => ({
  id,
  label: id,
  active: true,
  createTime: iso(days),
  updateTime: iso(days),
  ...more,
})

/** The bars as words: each span as its state and its days after the start. */
function spansOf(input: Partial<BarInput>): Record<string, string> {
  const bars = keyBars({
    keys: [],
    events: [],
    rotations: [],
    now: at(50),
    spreadMs: 0,
    ...input,
  })
  const days = (time: number) => (Number.isFinite(time) ? String((time - start) / day) : '')
  return Object.fromEntries(
    bars.map(({ kid, spans }) => [
      kid,
      spans.map(({ state, from, to }) => `${state} ${days(from)}-${days(to)}`).join(', '),
    ]),
  )
}

test('a key spreads each time it is published, and is current only if it was not switched off before', () => {
  const events = [created('a', 0), switched('a', 1, false), switched('a', 20, true)]
  expect(spansOf({ keys: [key('a', 0)], events, spreadMs: 2 * day })).toEqual({
    a: 'spreading 0-1, off 1-20, spreading 20-22, current 22-',
  })
})

test('a registered key that is not active is off, and a rename changes nothing', () => {
  const renamed = event('a', 3, 'key.updated', { label: { from: 'a', to: 'b' } })
  const events = [created('a', 0, { active: { to: false } }), renamed]
  const [bar] = keyBars({ keys: [], events, rotations: [], now: at(9), spreadMs: 0 })
  expect(bar).toMatchObject({ label: 'b', spans: [{ state: 'off' }] })
})

test('an expiry that passed, was cleared, and was set again; that of a key that is off leaves it off', () => {
  const events = [
    created('a', 0, { expireTime: { to: iso(40) } }),
    expiry('a', 45, 40),
    expiry('a', 60, undefined, 100),
    created('off', 0, { expireTime: { to: iso(40) } }),
    switched('off', 5, false),
  ]
  expect(spansOf({ events, now: at(80) })).toEqual({
    a: 'current 0-40, expired 40-45, current 45-100, expired 100-',
    off: 'current 0-5, off 5-',
  })
})

test('a deleted key ends, and keeps the label that it had', () => {
  const deleted = event('a', 20, 'key.deleted', { label: { from: 'spring' } })
  const events = [created('a', 0), switched('a', 10, false), deleted]
  expect(spansOf({ events })).toEqual({ a: 'current 0-10, off 10-20' })
  const [bar] = keyBars({ keys: [], events, rotations: [], now: at(50), spreadMs: 0 })
  expect(bar).toMatchObject({ label: 'spring', isDeleted: true })
})

test('a key is compromised from when its private key was submitted until it is off', () => {
  const found = event('a', 10, 'key.weakness_found', { reason: { to: 'compromised' } })
  const events = [created('a', 0), found, switched('a', 20, false)]
  expect(spansOf({ events })).toEqual({ a: 'current 0-10, compromised 10-20, off 20-' })
})

test('keys without any event are drawn as they are', () => {
  const keys = [
    key('a', 0),
    key('b', 1, { active: false }),
    key('c', 2, { active: false, expireTime: iso(40) }),
  ]
  expect(spansOf({ keys })).toEqual({
    a: 'current 0-',
    b: 'off 1-',
    c: 'current 2-40, expired 40-',
  })
})

test('of a ledger longer than what was read, the rest is unknown and nothing is guessed', () => {
  const keys = [
    key('untouched', 0, { updateTime: iso(5) }),
    key('changed', 1, { updateTime: iso(40), active: false }),
    key('expiry', 2, { updateTime: iso(41) }),
  ]
  const events = [
    switched('gone', 31, false),
    event('gone', 33, 'key.deleted', { label: { from: 'gone' } }),
    switched('changed', 40, false),
    expiry('expiry', 41, 90),
  ]
  expect(spansOf({ keys, events, completeSince: at(30) })).toEqual({
    untouched: 'unknown 0-5, current 5-',
    changed: 'unknown 1-30, current 30-40, off 40-',
    expiry: 'unknown 2-30, current 30-',
    gone: 'current 30-31, off 31-33',
  })
})

test('a key recorded as it was is unknown before', () => {
  const recorded = event('a', 20, 'key.recorded', { label: { to: 'a' }, active: { to: true } })
  expect(spansOf({ keys: [key('a', 0)], events: [recorded] })).toEqual({
    a: 'unknown 0-20, current 20-',
  })
})

/** A rotation from `old` to `new` that began on day 20. */
const rotation = (state: Rotation['state'], end?: number) => ({
  ...{ from: 'old', to: 'new', createTime: iso(20), state },
  ...(end && { endTime: iso(end) }),
})

test('a rotation: the old key is previous from when the new one is current until it is off', () => {
  const events = [created('old', 0), created('new', 20), switched('old', 30, false)]
  const keys = [key('old', 0, { active: false }), key('new', 20)]
  expect(spansOf({ keys, events, rotations: [rotation('finished', 30)], spreadMs: day })).toEqual({
    old: 'spreading 0-1, current 1-21, previous 21-30, off 30-',
    new: 'spreading 20-21, current 21-',
  })
})

test('an abandoned rotation makes the old key current again', () => {
  const events = [created('old', 0), created('new', 20)]
  const overlap = (...rotations: BarInput['rotations']) => spansOf({ events, rotations }).old
  expect(overlap(rotation('abandoned', 30))).toBe('current 0-20, previous 20-30, current 30-')
  expect(overlap(rotation('overlapping'))).toBe('current 0-20, previous 20-')
})

test('the delay of verifiers is read from a key after any change', () => {
  const events = [
    created('a', 0),
    switched('a', 1, false),
    switched('a', 2, true),
    event('a', 3, 'key.updated', { label: { from: 'a', to: 'b' } }),
  ]
  const convergedTime = new Date(at(2) + minute).toISOString()
  const details = { details: { convergedTime }, ...key('a', 0, { updateTime: iso(3) }) }
  expect(spreadOf(details, events, at(9))).toBe(minute)
})

test('the whole window has every published key and its expiry, and zooming keeps now in place', () => {
  const events = [
    created('a', 0, { expireTime: { to: iso(100) } }),
    created('gone', -900),
    switched('gone', -800, false),
  ]
  const bars = keyBars({ keys: [], events, rotations: [], now: at(50), spreadMs: 0 })
  const window = windowOfAll(bars, at(50))
  expect(window.from).toBeLessThan(at(0))
  expect(window.from).toBeGreaterThan(at(-30))
  expect(window.to).toBeGreaterThan(at(100))
  expect(resize({ from: at(0), to: at(100) }, 10 * day, at(50))).toEqual({
    from: at(45),
    to: at(55),
  })
  expect(resize({ from: at(0), to: at(1) }, 1, at(50)).to - at(0.5)).toBe(30 * minute)
})

test('a window of any length has some ticks, each with a label of its own', () => {
  for (const days of [1 / 24, 1 / 4, 1, 7, 31, 366, 20 * 366]) {
    const found = ticks({ from: at(0), to: at(days) }, 8).map(({ label }) => label)
    expect(found.length, `${days} days`).toBeGreaterThan(1)
    expect(found.length, `${days} days`).toBeLessThan(11)
    expect(new Set(found).size).toBe(found.length)
  }
})
