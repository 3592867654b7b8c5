import { invalidField, type PubringError } from '../../errors.ts'
import type { CallerApiKey } from '../../kernel/access/callers.ts'
import { includesRole } from '../../kernel/access/grants.ts'
import type { ApiKeyRecord } from './stored.ts'

/**
 * Throws `insufficient_lifetime` if an API key that expires would change its own end, or give rights
 * to an API key that outlives it: its holder could then keep access after it has expired.
 * Taking rights away is permitted. A caller without an API key is the system or an operator; a new
 * API key has no `before`.
 */
export function requireLifetime(
  caller: CallerApiKey | undefined,
  before: ApiKeyRecord | undefined,
  after: ApiKeyRecord,
): void {
  const end = caller?.expireTime
  if (end === undefined) return
  if (caller?.id === after.id) {
    if (after.expireTime !== end) throw ownExpiry()
    return
  }
  const gained = gainedMember(before, after)
  if (gained !== undefined && endsLater(after.expireTime, end)) throw outlives(gained, end)
}

/** The member of the request that gives rights to the API key, or gives them for longer. */
export function gainedMember(
  before: ApiKeyRecord | undefined,
  after: ApiKeyRecord,
): 'expireTime' | 'role' | 'active' | undefined {
  if (before === undefined || endsLater(after.expireTime, before.expireTime)) return 'expireTime'
  if (!includesRole(before.role, after.role)) return 'role'
  return after.enabled && !before.enabled ? 'active' : undefined
}

/** Without an `expireTime` there is no end. */
function endsLater(one: string | undefined, other: string | undefined): boolean {
  return other !== undefined && (one === undefined || one > other)
}

function ownExpiry(): PubringError {
  return insufficientLifetime(
    'expireTime',
    'own_expiry',
    'An API key with an expireTime cannot change or clear it. Use another admin API key.',
  )
}

function outlives(member: string, end: string): PubringError {
  const detail =
    member === 'expireTime'
      ? `Your API key expires at ${end}, so an API key that you create or extend must expire by then: send an expireTime that is no later.`
      : `Your API key expires at ${end}, and the API key that you are changing lives longer, so you cannot give it more rights. Send an expireTime that is no later too, or use an admin API key that does not expire.`
  return insufficientLifetime(member, 'too_late', detail)
}

function insufficientLifetime(member: string, code: string, detail: string): PubringError {
  return invalidField(`/${member}`, code, detail, 'insufficient_lifetime')
}
