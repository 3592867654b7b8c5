import { PubringError } from '../../errors.ts'
import type { Origin } from '../changes.ts'
import { isoTime } from '../values/times.ts'
import type { Caller } from './callers.ts'

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
