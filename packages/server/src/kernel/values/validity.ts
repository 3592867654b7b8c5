import type { Clock } from '../../runtime/clock.ts'
import type { CurrentHead, ObservedHead } from '../records.ts'

/** Epoch milliseconds, `from` included and `until` excluded. */
export interface TimeSpan {
  from: number
  until: number
}

export const always: TimeSpan = { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY }

/**
 * When a cached copy is valid: while these ledger heads are current, within this span of wall-clock
 * time. The span has a start because setting the clock back makes an expired key active again.
 */
export interface Validity extends TimeSpan {
  heads: readonly ObservedHead[]
}

/** Whether the heads are current. A promise only if they have to be read. */
export type HeadsMatch = (heads: readonly ObservedHead[]) => boolean | Promise<boolean>

/** The rule for all cached copies. Checks the time again after reading heads asynchronously. */
export function isValid(
  validity: Validity,
  clock: Clock,
  match: HeadsMatch,
): boolean | Promise<boolean> {
  const isInSpan = () => includes(validity, clock.now())
  const matches = isInSpan() && match(validity.heads)
  return typeof matches === 'boolean' ? matches : matches.then((found) => found && isInSpan())
}

export function includes({ from, until }: TimeSpan, time: number): boolean {
  return from <= time && time < until
}

export function headsMatch(
  observed: readonly ObservedHead[],
  current: ReadonlyMap<string, CurrentHead>,
): boolean {
  return observed.every((head) => isCurrent(head, current.get(head.ledgerId)))
}

export function isCurrent(observed: ObservedHead, current: CurrentHead | undefined): boolean {
  if (current?.hash !== observed.hash) return false
  const { eventlessTime = current.eventlessTime } = observed
  return eventlessTime === current.eventlessTime
}

/** The validity of a result of several copies; undefined if they cannot be valid together. */
export function intersect(...validities: Validity[]): Validity | undefined {
  const heads = new Map<string, ObservedHead>()
  for (const head of validities.flatMap((validity) => validity.heads)) {
    const known = heads.get(head.ledgerId) ?? head
    if (known.hash !== head.hash) return undefined
    heads.set(head.ledgerId, { ...known, ...head })
  }
  return {
    heads: [...heads.values()],
    from: Math.max(...validities.map(({ from }) => from)),
    until: Math.min(...validities.map(({ until }) => until)),
  }
}

/** From `now` (epoch milliseconds) until the next expiry; `always` if there is no `expireTime`. */
export function spanUntilExpiry(expiring: { expireTime?: string }[], now: number): TimeSpan {
  const expiries = expiring.flatMap(({ expireTime }) => expireTime ?? []).map(Date.parse)
  if (expiries.length === 0) return always
  return { from: now, until: Math.min(always.until, ...expiries.filter((time) => time > now)) }
}
