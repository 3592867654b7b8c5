import type { KeyRole, KeyRoleEntry } from '../../contract/keys.ts'
import { isActive } from '../expiry.ts'
import { activationConvergedTime } from '../keys/jwks.ts'
import type { KeyRecord } from '../records.ts'

/** The role of a key at the time (ISO 8601). The one place that decides it. */
export function keyRole(key: KeyRecord, time: string, jwksMaxAge: number): KeyRole {
  if (!isActive(key, time)) {
    return key.expireTime !== undefined && key.expireTime <= time ? 'expired' : 'off'
  }
  return activationConvergedTime(key, jwksMaxAge) > time ? 'spreading' : 'current'
}

export function toKeyRoleEntry(key: KeyRecord, time: string, jwksMaxAge: number): KeyRoleEntry {
  const role = keyRole(key, time, jwksMaxAge)
  return {
    kid: key.id,
    role,
    ...(role === 'spreading' ? { convergedTime: activationConvergedTime(key, jwksMaxAge) } : {}),
  }
}
