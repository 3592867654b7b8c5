import type { EventContent, Members } from '../../kernel/ledger/chain.ts'
import { applyEffect } from '../../kernel/ledger/subject.ts'
import { isActive, isExpired } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { keys } from '../keys/stored.ts'

/** Times (ISO 8601) between which a key is active; `until` is excluded, and may lie ahead. */
export interface ActiveSpan {
  from: string
  until?: string
}

/** What the ledger says of a key, which may be deleted. */
export interface KeyLife {
  id: string
  /** Its members after its last event, or before its deletion. */
  members: Members
  /** In the order of its activations. */
  spans: readonly ActiveSpan[]
  /** When its end was first said to be compromised. */
  compromisedTime?: string
  deleteTime?: string
}

/** The lives of all keys of a project, by id, after an event. Changes the map, and none of its values. */
export function applyToLives(lives: Map<string, KeyLife>, event: EventContent): void {
  for (const effect of keys.effects(event)) {
    const before = lives.get(effect.id)
    const isDeletion = effect.action === 'delete'
    const members = isDeletion
      ? (before?.members ?? {})
      : applyEffect(before?.members ?? {}, effect)
    const isCompromised = members.reason === 'compromised'
    lives.set(effect.id, {
      id: effect.id,
      members,
      spans: spansAfter(before?.spans ?? [], isDeletion ? { active: false } : members, event.time),
      ...present({
        compromisedTime: isCompromised ? (before?.compromisedTime ?? event.time) : undefined,
        deleteTime: isDeletion ? event.time : undefined,
      }),
    })
  }
}

/**
 * The spans after an event. If the clock was set back before it, a span may end before it begins: then it
 * is empty, and the key counts as active for less time, never for more.
 */
function spansAfter(
  before: readonly ActiveSpan[],
  { active, expireTime }: Members,
  time: string,
): readonly ActiveSpan[] {
  const expiry = present({ expireTime: expireTime === undefined ? undefined : String(expireTime) })
  const isNow = isActive({ enabled: active === true, ...expiry }, time)
  const end = present({ until: expiry.expireTime })
  const last = before.at(-1)
  const wasActive =
    last !== undefined && !isExpired({ ...present({ expireTime: last.until }) }, time)
  if (!wasActive) return isNow ? [...before, { from: time, ...end }] : before
  return [...before.slice(0, -1), { from: last.from, ...(isNow ? end : { until: time }) }]
}

/** Whether the key was active at the time (ISO 8601). */
export function wasActiveAt({ spans }: KeyLife, time: string): boolean {
  return spans.some(({ from, until }) => from <= time && (until === undefined || time < until))
}
