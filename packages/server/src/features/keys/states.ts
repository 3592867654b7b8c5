import { PubringError } from '../../errors.ts'
import type { Voucher } from '../../kernel/access/callers.ts'
import { entityTag } from '../../kernel/entity-tags.ts'
import { isActive, isExpired } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import type { EndReason, KeyState, KeyStateEntry } from './contract.ts'
import { activationConvergedTime, convergedTime } from './jwks.ts'
import type { KeyRecord, KeySummary } from './stored.ts'

/** The replacement of the key `fromKid` by the key `toKid`, by a rotation. */
export interface Replacement {
  id: string
  fromKid: string
  toKid: string
  createTime: string
  outcome?: 'finished' | 'abandoned'
}

type Activity = Parameters<typeof isActive>[0]

/** The state that the replacement of a key depends on. */
export interface KeySituation {
  /** All keys of the project. */
  keys: readonly KeyRecord[]
  /** ISO 8601. */
  time: string
  jwksMaxAge: number
}

/** Whether the rotation was finished or abandoned, or its old key is inactive or deleted. */
export function hasEnded(
  { outcome, fromKid }: Pick<Replacement, 'outcome' | 'fromKid'>,
  { keys, time }: { keys: readonly (Activity & { id: string })[]; time: string },
): boolean {
  const from = keys.find(({ id }) => id === fromKid)
  return outcome !== undefined || from === undefined || !isActive(from, time)
}

/**
 * The time from which every verifier knows the new key; undefined if it is not active, or must be replaced itself
 * before the rotation has ended.
 */
export function takeoverTime(
  { toKid, outcome }: Replacement,
  { keys, time, jwksMaxAge }: KeySituation,
): string | undefined {
  const to = keys.find(({ id }) => id === toKid)
  if (to === undefined || !isActive(to, time)) return undefined
  const isFit = outcome !== undefined || to.endReason === undefined
  return isFit ? activationConvergedTime(to, jwksMaxAge) : undefined
}

/** Everything that the states of the keys of a project depend on. */
export interface StateSituation extends KeySituation {
  replacements: readonly Replacement[]
}

/** The state of a key. The one place that decides it. */
export function keyState(key: KeyRecord, situation: StateSituation): KeyState {
  const { time, jwksMaxAge } = situation
  if (!isActive(key, time)) return isExpired(key, time) ? 'expired' : 'off'
  if (key.endReason === 'compromised') return 'compromised'
  if (activationConvergedTime(key, jwksMaxAge) > time) return 'spreading'
  const replacement = replacementOf(key, situation.replacements)
  const ready = replacement && takeoverTime(replacement, situation)
  return ready !== undefined && ready <= time ? 'previous' : 'current'
}

/** The rotation of the key that started last, if that replaces it. */
function replacementOf(
  { id }: KeyRecord,
  replacements: readonly Replacement[],
): Replacement | undefined {
  const last = replacements
    .filter((one) => one.outcome !== 'abandoned' && [one.fromKid, one.toKid].includes(id))
    .toSorted((a, b) => (a.createTime + a.id < b.createTime + b.id ? -1 : 1))
    .at(-1)
  return last?.fromKid === id ? last : undefined
}

export function toKeyStateEntry(key: KeyRecord, situation: StateSituation): KeyStateEntry {
  const { time, jwksMaxAge } = situation
  const state = keyState(key, situation)
  const replaced = replacementOf(key, situation.replacements) && ('superseded' as const)
  const converged =
    state === 'spreading'
      ? activationConvergedTime(key, jwksMaxAge)
      : convergedTime(key, time, jwksMaxAge)
  const isOld = state === 'off' && key.publishTime === key.createTime
  const isKnown = isActive(key, time) ? state !== 'spreading' : isOld || converged <= time
  return {
    kid: key.id,
    state,
    ...present({
      endsBecause: key.endReason ?? replaced,
      convergedTime: isKnown ? undefined : converged,
    }),
  }
}

/**
 * The tag that a change of the key compares. It has the members that most changes set, because `updateTime`
 * alone does not tell apart two changes in one millisecond.
 */
export function changeTag(key: KeyRecord, time: string): string {
  const { id, updateTime, label, expireTime = '' } = key
  const members = [id, updateTime, label, isActive(key, time), expireTime, endOf(key, time)]
  return entityTag(JSON.stringify(members))
}

/** The tag of a key as a response shows it: the `changeTag`, and a digest of everything shown. */
export function keyEntityTag(key: KeyRecord, shown: object, time: string): string {
  return `${changeTag(key, time).slice(0, -1)}.${entityTag(JSON.stringify(shown)).slice(1)}`
}

/**
 * An `If-Match` with the `changeTag`s alone: neither a report of a key's use nor a state that time or a
 * rotation changes may make a change fail.
 */
export function changeTagsOf(ifMatch: string | undefined): string | undefined {
  return ifMatch?.replace(/\.[\w-]*"/g, '"')
}

/** Whether the key is or was active, so that anyone may have seen it. */
export function wasEverActive({ enabled, endTime }: KeyRecord): boolean {
  return enabled || endTime !== undefined
}

/** The end of an inactive key. One that was never active has none, or the reason alone. */
export function endOf(
  key: KeyRecord,
  now: string,
): { time?: string; reason: EndReason } | undefined {
  const { enabled, expireTime, endReason, endTime = enabled ? expireTime : undefined } = key
  if ((endTime ?? endReason) === undefined || isActive(key, now)) return undefined
  return { ...present({ time: endTime }), reason: endReason ?? 'unspecified' }
}

type Vouched = Pick<KeySummary, 'id' | 'enabled' | 'expireTime' | 'introducedBy'>

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

/** Whether the key vouches for successors: it is active, and as far as is known nobody else has its private key. */
export function mayVouch(key: KeyRecord, now: string): boolean {
  return isActive(key, now) && key.endReason !== 'compromised'
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
