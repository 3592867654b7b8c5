import type { Clock } from './context.ts'
import type { LedgerHead, ObservedHead } from './records.ts'

/** Epoch milliseconds; `from` is included and `until` is not. */
export interface TimeSpan {
  from: number
  until: number
}

export const always: TimeSpan = { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY }

/**
 * What a copy in memory rests on. It holds while the ledgers that it was computed from still have
 * these heads, and while the wall clock is in the span that it was computed for. The span has a
 * beginning because a clock can be set back: then an expired key is active again.
 */
export interface Validity extends TimeSpan {
  heads: readonly ObservedHead[]
}

/** The one rule for every copy. The clock is read again after heads that were read asynchronously. */
export function isValid(
  validity: Validity,
  clock: Clock,
  headsMatch: (heads: readonly ObservedHead[]) => boolean,
): boolean
export function isValid(
  validity: Validity,
  clock: Clock,
  headsMatch: (heads: readonly ObservedHead[]) => boolean | Promise<boolean>,
): boolean | Promise<boolean>
export function isValid(
  validity: Validity,
  clock: Clock,
  headsMatch: (heads: readonly ObservedHead[]) => boolean | Promise<boolean>,
): boolean | Promise<boolean> {
  if (!includes(validity, clock.now())) return false
  const match = headsMatch(validity.heads)
  if (typeof match === 'boolean') return match
  return match.then((isMatch) => isMatch && includes(validity, clock.now()))
}

export function includes({ from, until }: TimeSpan, time: number): boolean {
  return from <= time && time < until
}

/** Whether the observed heads are still the current ones. */
export function headsMatch(
  observed: readonly ObservedHead[],
  current: ReadonlyMap<string, LedgerHead>,
): boolean {
  return observed.every(({ ledgerId, hash }) => current.get(ledgerId)?.hash === hash)
}

/**
 * The validity of a response that is computed from several copies. Undefined if they rest on
 * different states of a ledger.
 */
export function intersect(...validities: Validity[]): Validity | undefined {
  const heads = new Map<string, ObservedHead>()
  for (const head of validities.flatMap((validity) => validity.heads)) {
    const other = heads.get(head.ledgerId)
    if (other !== undefined && other.hash !== head.hash) return undefined
    heads.set(head.ledgerId, head)
  }
  return {
    heads: [...heads.values()],
    from: Math.max(...validities.map(({ from }) => from)),
    until: Math.min(...validities.map(({ until }) => until)),
  }
}

/**
 * The span around `time` (epoch milliseconds) in which none of these expires. Only `always` where
 * none ever does: what is computed at a time is not known to hold before it.
 */
export function spanBetweenExpiries(
  expiring: readonly { expireTime?: string }[],
  time: number,
): TimeSpan {
  const expiries = expiring.flatMap(({ expireTime }) =>
    expireTime === undefined ? [] : [Date.parse(expireTime)],
  )
  if (expiries.length === 0) return always
  return {
    from: time,
    until: Math.min(always.until, ...expiries.filter((expiry) => expiry > time)),
  }
}
