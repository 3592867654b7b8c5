import { PubringError } from '../../errors.ts'
import { changerOf, type EventContent } from './chain.ts'
import type { LockedLedger } from './locked-ledger.ts'
import { eventFromRow } from './stored.ts'

/** Events at the end of a ledger that are searched for earlier ones of the caller. */
const lookbackEvents = 200

const windowMs = 60_000

/** One a second: more than people, command lines and tests of the console in browsers need. */
const defaultLimit = 60

interface EventRate {
  type: string
  /** Events of one caller within a minute. */
  limit?: number
  isCounted?: (event: EventContent) => boolean
}

/** Throws `rate_limited` if one more such event exceeds the rate. `did`: what the caller has done to cause it. */
export async function requireRate(
  ledger: LockedLedger,
  { did, ...rate }: Omit<EventRate, 'limit'> & { did: string },
): Promise<void> {
  if (await isWithinRate(ledger, rate)) return
  const detail = `You have ${did} ${defaultLimit} times within a minute. Try again in a minute.`
  throw new PubringError('rate_limited', detail, { retryAfter: windowMs / 1_000 })
}

/**
 * Whether one more such event of the caller is within the rate, by the last events of the ledger. Without a
 * rate, what readers may do as often as they like could fill a ledger.
 */
export async function isWithinRate(
  { db, ledgerId, revision, origin }: LockedLedger,
  { type, limit = defaultLimit, isCounted = () => true }: EventRate,
): Promise<boolean> {
  const caller = changerOf(origin.actor)
  // Also not long after: the clock may have been set back since.
  const isRecent = (time: string) => Math.abs(Date.parse(origin.time) - Date.parse(time)) < windowMs
  const rows = await db
    .selectFrom('event')
    .selectAll()
    .where('project_id', '=', ledgerId)
    .where('revision', '>=', revision - lookbackEvents)
    .where('type', '=', type)
    .execute()
  const earlier = rows
    .map(eventFromRow)
    .filter((event) => changerOf(event.actor) === caller && isRecent(event.time))
  return earlier.filter(isCounted).length < limit
}
