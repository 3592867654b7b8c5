import { PubringError } from '../../errors.ts'
import type { Origin, Transaction } from '../changes.ts'
import { isoTime } from '../values/times.ts'
import type { Caller, CallerApiKey } from './callers.ts'
import { requireAccess } from './grants.ts'

/**
 * Checks again, inside the transaction, what the request was admitted on: that its credential still
 * exists, is active and has the role. So no change commits after the revocation of its API key, the
 * end of its session or the removal of an access rule was answered. Returns the caller; a change by the
 * system has none. Throws `invalid_api_key`, `invalid_session` or `insufficient_role`.
 */
export async function requireAuthorization(
  { db, readCaller }: Transaction,
  { authorization }: Origin,
): Promise<Caller | undefined> {
  if (authorization === undefined) return undefined
  const { credential, access, projectId } = authorization
  const caller = await readCaller({ db, time: isoTime(Date.now()), isLocked: true }, credential)
  requireAccess(caller.grants, access, projectId)
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

/**
 * Throws `recent_sign_in_required` for a session whose holder did not sign in recently, so that a
 * session left open, or its stolen cookie, is not enough for what is hard to undo. API keys pass.
 */
export function requireRecentSignIn(caller: Caller | undefined, { time }: Origin): void {
  const session = caller?.session
  if (session === undefined || signedInRecently(session, Date.parse(time))) return
  throw new PubringError(
    'recent_sign_in_required',
    `This operation needs a sign-in within the last ${recentSignInSeconds / 60} minutes. Sign in again and repeat it.`,
  )
}

/**
 * Throws `insufficient_lifetime` if an API key that expires would give rights by something that has no
 * end, such as an access rule. People who sign in are not bound to the end of a session.
 */
export function requirePermanent(caller: CallerApiKey | undefined, what: string): void {
  if (caller?.expireTime === undefined) return
  throw new PubringError(
    'insufficient_lifetime',
    `Your API key expires at ${caller.expireTime}, and a ${what} has no end, so you can only deactivate, rename and delete them. Use an admin API key that does not expire, or sign in.`,
  )
}
