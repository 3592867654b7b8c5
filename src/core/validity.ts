import type { Clock } from './context.ts'
import type { LedgerHead, ObservedHead } from './records.ts'

/** Epoch milliseconds, `from` included and `until` excluded. */
export interface TimeSpan {
  from: number
  until: number
}

export const always: TimeSpan = { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY }

/**
 * What a copy in memory rests on: the heads of the ledgers and the span of wall-clock time that it
 * was computed for. The span has a beginning because a clock can be set back, which makes an expired
 * key active again.
 */
export interface Validity extends TimeSpan {
  heads: readonly ObservedHead[]
}

/** Whether the heads are the current ones. A promise only if they have to be read. */
export type HeadsMatch = (heads: readonly ObservedHead[]) => boolean | Promise<boolean>

/** The one rule for all copies. The clock is read again after heads that are read asynchronously. */
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

/** Whether the observed heads are the current ones. */
export function headsMatch(
  observed: readonly ObservedHead[],
  current: ReadonlyMap<string, LedgerHead>,
): boolean {
  return observed.every(({ ledgerId, hash }) => current.get(ledgerId)?.hash === hash)
}

/** The validity of what is computed from several copies; undefined if they cannot all be valid. */
export function intersect(...validities: Validity[]): Validity | undefined {
  const heads = new Map<string, ObservedHead>()
  for (const head of validities.flatMap((validity) => validity.heads)) {
    const { hash } = heads.get(head.ledgerId) ?? head
    if (hash !== head.hash) return undefined
    heads.set(head.ledgerId, head)
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
