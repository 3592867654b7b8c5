import { PubringError } from '../../errors.ts'
import type { Origin } from '../ledger/changes.ts'
import { isoTime } from '../times.ts'
import type { Caller } from './callers.ts'

/** Whether the person, or the holder of the API key, signed in within the last `seconds`. */
export function signedInRecently(
  { signInTime }: { signInTime?: string },
  seconds: number,
  now: number,
): boolean {
  return signInTime !== undefined && signInTime > isoTime(now - seconds * 1_000)
}

/**
 * Throws `recent_sign_in_required` for a session whose holder did not sign in recently, so that a
 * session left open, or its stolen cookie, is not enough for what is hard to undo. API keys pass.
 */
export function requireRecentSignIn(
  caller: Caller | undefined,
  { time, authorization }: Origin,
): void {
  const { recentSignIn = 0 } = authorization ?? {}
  const session = caller?.session
  if (session === undefined || signedInRecently(session, recentSignIn, Date.parse(time))) return
  throw new PubringError(
    'recent_sign_in_required',
    `This operation needs a sign-in within the last ${Math.round(recentSignIn / 60)} minutes. Sign in again and repeat it.`,
  )
}
