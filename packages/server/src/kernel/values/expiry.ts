import { invalidField } from '../../errors.ts'
import { parseTime } from './times.ts'

/**
 * Whether a JWT key or an API key is active: enabled, not expired, and as its ledger says. Lists, the
 * JWKS, token checks and authentication all use this rule. A key expires in the very millisecond of
 * its `expireTime`.
 */
export function isActive(
  key: { enabled: boolean; expireTime?: string; contradicted?: true },
  now: string,
): boolean {
  return key.enabled && !key.contradicted && !isExpired(key, now)
}

export function isExpired({ expireTime }: { expireTime?: string }, now: string): boolean {
  return expireTime !== undefined && expireTime <= now
}

/** Parses an `expireTime`, which must lie in the future; throws `invalid_request`. */
export function parseExpireTime(text: string, now: string): string {
  const time = parseTime(text)
  requireFuture(time, now)
  return time
}

function requireFuture(expireTime: string, now: string): void {
  if (expireTime > now) return
  throw invalidField('/expireTime', 'time_past', 'expireTime must lie in the future.')
}

/**
 * Throws `invalid_request` if a patch of a JWT key or an API key sets a past `expireTime`, or
 * activates an expired one without a new or cleared `expireTime`. The current `expireTime` is no
 * change, so sending a resource back as it was read always succeeds.
 */
export function requireValidExpiry(
  before: { expireTime?: string },
  patch: { active?: boolean; expireTime?: string | null },
  now: string,
): void {
  const { expireTime } = patch
  const isUnchanged = expireTime === undefined || expireTime === before.expireTime
  if (!isUnchanged && expireTime !== null) requireFuture(expireTime, now)
  if (!isExpired(before, now) || !isUnchanged || patch.active !== true) return
  throw invalidField(
    '/active',
    'key_expired',
    `This key expired at ${before.expireTime}. To activate it again, send a later expireTime, or null to clear it, with active.`,
  )
}

/** The `expireTime` of a patch, which may be absent, or `null` to clear it. */
export function parseExpiryPatch(expireTime: string | null | undefined): {
  expireTime?: string | null
} {
  return expireTime === undefined ? {} : { expireTime: expireTime && parseTime(expireTime) }
}

/** The `expireTime` after a patch, in which `null` clears it. */
export function patchExpireTime(
  before: { expireTime?: string },
  patch: { expireTime?: string | null },
): { expireTime?: string } {
  const expireTime = patch.expireTime === undefined ? before.expireTime : patch.expireTime
  return typeof expireTime === 'string' ? { expireTime } : {}
}
