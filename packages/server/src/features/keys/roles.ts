import { PubringError } from '../../errors.ts'
import type { Voucher } from '../../kernel/access/callers.ts'
import { keyRoles } from '../../kernel/contract.ts'
import { entityTag } from '../../kernel/entity-tags.ts'
import { isActive, isExpired } from '../../kernel/values/times.ts'
import type { KeyRole, KeyRoleEntry } from './contract.ts'
import { activationConvergedTime, convergedTime } from './jwks.ts'
import type { KeyRecord, KeyState } from './stored.ts'

/** The replacement of the key `fromKid` by the key `toKid`, by a rotation. */
export interface Replacement {
  id: string
  fromKid: string
  toKid: string
  outcome?: 'finished' | 'abandoned'
}

/** The state that the replacement of a key depends on. */
export interface KeySituation {
  /** All keys of the project. */
  keys: readonly KeyRecord[]
  /** ISO 8601. */
  time: string
  jwksMaxAge: number
}

/** Whether the rotation was finished or abandoned, or its old key is inactive or deleted. */
export function hasEnded({ outcome, fromKid }: Replacement, { keys, time }: KeySituation): boolean {
  const from = keys.find(({ id }) => id === fromKid)
  return outcome !== undefined || from === undefined || !isActive(from, time)
}

/** The time from which every verifier knows the new key; undefined if it is not active. */
export function takeoverTime(
  { toKid }: Replacement,
  { keys, time, jwksMaxAge }: KeySituation,
): string | undefined {
  const to = keys.find(({ id }) => id === toKid)
  return to && isActive(to, time) ? activationConvergedTime(to, jwksMaxAge) : undefined
}

/** The state that the roles of the keys of a project depend on. */
export interface RoleSituation extends KeySituation {
  replacements: readonly Replacement[]
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
    situation.replacements.filter(({ outcome }) => outcome !== 'abandoned'),
  )
  if (last === undefined || last.fromKid !== id) return false
  const ready = takeoverTime(last, situation)
  return ready !== undefined && ready <= situation.time
}

export function toKeyRoleEntry(key: KeyRecord, situation: RoleSituation): KeyRoleEntry {
  const role = keyRole(key, situation)
  const rotation = lastRotation(
    key.id,
    situation.replacements.filter((one) => !hasEnded(one, situation)),
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
function lastRotation(kid: string, replacements: readonly Replacement[]): Replacement | undefined {
  return replacements
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

type Vouched = Pick<KeyState, 'id' | 'enabled' | 'expireTime' | 'introducedBy'>

/** The active keys that the key vouched for, directly or through others that may be inactive. */
export function activeVouched<Key extends Vouched>(
  keys: readonly Key[],
  kid: string,
  now: string,
): Key[] {
  const ids = new Set([kid])
  let before: number
  do {
    before = ids.size
    for (const key of keys) if (ids.has(key.introducedBy ?? '')) ids.add(key.id)
  } while (ids.size > before)
  return keys.filter((key) => key.id !== kid && ids.has(key.id) && isActive(key, now))
}

/** Names the keys that an ended key vouched for, and says what to do with them. */
export function vouchedDetail(vouched: readonly { id: string }[]): string {
  const kids = vouched.map(({ id }) => id).join(', ')
  return `It vouched for keys that are still active: ${kids}. If its private key may be in other hands, the holder may have added them: deactivate them too.`
}

/** Throws `key_not_vouched` unless it is the key that was vouched for, and the first time. */
export function requireSuccessor(
  { successor }: Voucher,
  { thumbprint }: { thumbprint: string },
  isFirst: boolean,
): void {
  if (thumbprint === successor && isFirst) return
  throw new PubringError(
    'key_not_vouched',
    `This API key registers only the key with the thumbprint ${successor}, and once. That of yours is ${thumbprint}.`,
  )
}
