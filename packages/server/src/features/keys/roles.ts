import type { KeyRecord, RotationRecord } from '../../kernel/records.ts'
import { isActive, isExpired } from '../../kernel/values/expiry.ts'
import { hasEnded, type RotationSituation, takeoverTime } from '../rotations/rules.ts'
import type { KeyRole, KeyRoleEntry } from './contract.ts'
import { activationConvergedTime } from './jwks.ts'

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
