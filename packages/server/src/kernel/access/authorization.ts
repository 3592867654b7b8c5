import { PubringError } from '../../errors.ts'
import type { Origin, Transaction } from '../changes.ts'
import { isoTime, now } from '../values/times.ts'
import type { Caller } from './callers.ts'
import { type Access, requireAccess } from './grants.ts'

/**
 * Checks again, inside the transaction, what the request was admitted on: that its credential still
 * exists, is active and has the role. So no change commits after the revocation of its API key, the
 * end of its session or the removal of an access rule was answered. Returns the caller; a change by the
 * system has none. Throws `invalid_api_key`, `invalid_session`, `insufficient_role` or
 * `recent_sign_in_required`.
 */
export async function requireAuthorization(
  { db, clock, readCaller }: Transaction,
  { authorization, time }: Origin,
): Promise<Caller | undefined> {
  if (authorization === undefined) return undefined
  const { credential } = authorization
  const caller = await readCaller({ db, time: now(clock), isLocked: true }, credential)
  requireAdmission(caller, authorization, time)
  return caller
}

/**
 * Seconds for which a sign-in counts as recent: long enough for a piece of work, and too short for a
 * browser that was left open, or a stolen cookie.
 */
export const recentSignInSeconds = 900

/** Whether the person, or the holder of the API key, signed in recently. */
export function signedInRecently({ signInTime }: { signInTime?: string }, now: number): boolean {
  return signInTime !== undefined && signInTime > isoTime(now - recentSignInSeconds * 1_000)
}

/** The part of a caller that operations are permitted by. */
type Admitted = Pick<Caller, 'grants'> & { session?: { signInTime?: string } }

/** Who requests a change, and when; a change by the system has no caller. */
interface Change {
  caller?: Pick<Admitted, 'session'> | undefined
  origin: Pick<Origin, 'time'>
}

/**
 * Decides by what the operation declares whether the caller may use it, at the time (ISO 8601). Throws
 * `insufficient_role` or `recent_sign_in_required`.
 */
export function requireAdmission(
  caller: Admitted,
  { access, projectId }: { access: Access; projectId?: string | undefined },
  time: string,
): void {
  requireAccess(caller.grants, access, projectId)
  if (access.recentSignIn === 'always') requireRecentSignIn({ caller, origin: { time } })
}

/**
 * Throws `recent_sign_in_required` for a session whose holder did not sign in recently. A session left
 * open, or its stolen cookie, must not be enough to give a right that outlives it, to take a right from
 * others or to do what cannot be undone. API keys pass. `advice` ends the error: what the session can do.
 */
export function requireRecentSignIn({ caller, origin }: Change, advice = ''): void {
  const session = caller?.session
  if (session === undefined || signedInRecently(session, Date.parse(origin.time))) return
  throw new PubringError(
    'recent_sign_in_required',
    `This operation needs a sign-in within the last ${recentSignInSeconds / 60} minutes. Sign in again and repeat it.${advice}`,
  )
}
