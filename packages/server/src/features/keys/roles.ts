import { keyRoles } from '../../kernel/contract/roles.ts'
import { entityTag } from '../../kernel/entity-tags.ts'
import { isActive, isExpired } from '../../kernel/values/expiry.ts'
import { hasEnded, type RotationSituation, takeoverTime } from '../rotations/rules.ts'
import type { RotationRecord } from '../rotations/stored.ts'
import type { KeyRole, KeyRoleEntry } from './contract.ts'
import { activationConvergedTime, convergedTime } from './jwks.ts'
import type { KeyRecord } from './stored.ts'

/** The rotations of a project, and what their rules depend on. */
export interface RoleSituation extends RotationSituation {
  rotations: readonly RotationRecord[]
}

/** The role of a key. The one place that decides it. */
export function keyRole(key: KeyRecord, situation: RoleSituation): KeyRole {
  const { time, jwksMaxAge } = situation
  if (!isActive(key, time)) {
    return isExpired(key, time) ? 'expired' : 'off'
  }
  if (activationConvergedTime(key, jwksMaxAge) > time) return 'spreading'
  return isSuperseded(key, situation) ? 'previous' : 'current'
}

/** Whether the last rotation of the key replaces it by one that every verifier knows. */
function isSuperseded({ id }: KeyRecord, situation: RoleSituation): boolean {
  const last = lastRotation(
    id,
    situation.rotations.filter(({ outcome }) => outcome !== 'abandoned'),
  )
  if (last === undefined || last.fromKid !== id) return false
  const ready = takeoverTime(last, situation)
  return ready !== undefined && ready <= situation.time
}

export function toKeyRoleEntry(key: KeyRecord, situation: RoleSituation): KeyRoleEntry {
  const role = keyRole(key, situation)
  const rotation = lastRotation(
    key.id,
    situation.rotations.filter((one) => !hasEnded(one, situation)),
  )
  return {
    kid: key.id,
    role,
    ...(role === 'spreading'
      ? { convergedTime: activationConvergedTime(key, situation.jwksMaxAge) }
      : {}),
    ...(rotation === undefined ? {} : { rotationId: rotation.id }),
  }
}

/** Ids rise with time. */
function lastRotation(
  kid: string,
  rotations: readonly RotationRecord[],
): RotationRecord | undefined {
  return rotations
    .filter(({ fromKid, toKid }) => fromKid === kid || toKid === kid)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .at(-1)
}

/**
 * The tag of a JWT key. It covers everything that a response shows of the key and that can change,
 * because `updateTime` alone does not tell apart two changes in one millisecond.
 */
export function keyEntityTag(
  key: KeyRecord,
  role: KeyRole,
  time: string,
  jwksMaxAge: number,
): string {
  const { id, updateTime, label, expireTime = '' } = key
  const converged = convergedTime(key, time, jwksMaxAge)
  const active = isActive(key, time)
  return entityTag(JSON.stringify([id, updateTime, label, active, expireTime, converged, role]))
}

/** Its tags in all roles, for a change: the role depends on the time and on rotations. */
export function keyEntityTags(key: KeyRecord, time: string, jwksMaxAge: number): string[] {
  return keyRoles.map((role) => keyEntityTag(key, role, time, jwksMaxAge))
}
