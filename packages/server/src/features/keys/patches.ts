import { isInCommonJwks } from '@pubring/intake/algorithms'
import { invalidField, PubringError } from '../../errors.ts'
import type { EventChanges } from '../../kernel/ledger/chain.ts'
import { isActive, latest, patchExpireTime } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { type EndReason, endReasons, type JwtKeyUpdate, type KeyWarning } from './contract.ts'
import { activeVouched, vouchedDetail } from './states.ts'
import type { KeyRecord } from './stored.ts'

const rankOf = (reason: EndReason = 'unspecified') => endReasons.indexOf(reason)

/** Throws `invalid_request` if the patched key has no end, or a stronger reason for it. */
export function requireValidReason(
  patched: Pick<KeyRecord, 'enabled' | 'expireTime' | 'endReason'>,
  { reason }: { reason?: EndReason | undefined },
): void {
  if (reason === undefined) return
  const invalid = (code: string, detail: string) => invalidField('/reason', code, detail)
  if (!hasEnd(patched)) {
    const detail =
      'The key has no end. Send the reason with "active": false, or with an expireTime.'
    throw invalid('reason_without_end', detail)
  }
  if (rankOf(patched.endReason) > rankOf(reason)) {
    const detail = `The key ends as ${patched.endReason}, and a reason is never lowered. Leave out reason.`
    throw invalid('reason_lowered', detail)
  }
}

const hasEnd = ({ enabled, expireTime }: Pick<KeyRecord, 'enabled' | 'expireTime'>) =>
  !enabled || expireTime !== undefined

/** The reason and the time of the end that the patched key has. */
function endOf(
  before: KeyRecord,
  after: Pick<KeyRecord, 'enabled' | 'expireTime'>,
  reason: EndReason | undefined,
  now: string,
): Pick<KeyRecord, 'endReason' | 'endTime'> {
  const [was, is] = [isActive(before, now), isActive(after, now)]
  const isKept = before.endReason === 'compromised' || (hasEnd(after) && (was || !is))
  const kept = isKept ? before.endReason : undefined
  const endReason = rankOf(reason) > rankOf(kept) && reason !== 'unspecified' ? reason : kept
  const earlier = before.endTime ?? (before.enabled ? before.expireTime : undefined)
  return present({ endReason, endTime: is ? undefined : was ? now : earlier })
}

/**
 * The patched key; the same record, `updateTime` included, if the patch changes nothing. A reason that
 * is weaker than that of the key changes nothing.
 */
export function patchKey(key: KeyRecord, patch: JwtKeyUpdate, now: string): KeyRecord {
  const {
    expireTime: before,
    activateTime = key.publishTime,
    endReason,
    endTime: _endTime,
    ...rest
  } = key
  const expiry = patchExpireTime(key, patch)
  const label = patch.label ?? key.label
  const enabled = patch.active ?? key.enabled
  const isPublishedChange = enabled !== key.enabled || expiry.expireTime !== before
  const end = endOf(key, { enabled, ...expiry }, patch.reason, now)
  if (!isPublishedChange && label === key.label && end.endReason === endReason) return key
  const updateTime = latest(now, key.updateTime)
  const publishTime = isPublishedChange ? updateTime : key.publishTime
  const patched = { ...rest, label, enabled, ...expiry, ...end, updateTime, publishTime }
  // A new end does not make an active key unknown to verifiers.
  const staysActive = enabled && isActive(key, now) && activateTime < publishTime
  return staysActive ? { ...patched, activateTime } : patched
}

/** Whether the patched key is active when the key before it no longer is. */
export function endsLater(before: KeyRecord, patched: KeyRecord, now: string): boolean {
  const endOfActivity = (key: KeyRecord) => (isActive(key, now) ? (key.expireTime ?? '~') : '')
  return endOfActivity(patched) > endOfActivity(before)
}

/** The error for a key whose private half is known to others: it can only end sooner. */
export function keyCompromised(): PubringError {
  const detail =
    'The private key of this key is known to others, so it is never activated again, and its end is not put off. Register a key of a new pair.'
  return new PubringError('key_compromised', detail)
}

/** The time from which none of these active keys is left; undefined if one never expires. */
function lastExpiry(active: readonly { expireTime?: string }[], now: string): string | undefined {
  let last = now
  for (const { expireTime } of active) {
    if (expireTime === undefined) return undefined
    last = latest(last, expireTime)
  }
  return last
}

interface ActiveKey {
  algorithm: string
  expireTime?: string
}

/** When a change leaves a project without an active key: at the time of the change, or the last expiry. */
interface ActiveKeysEnd {
  time: string
  /** Whether `jwks-full.json` still has ML-DSA keys then. */
  isOfCommonJwks: boolean
}

/**
 * The time from which a change of the active keys leaves `jwks.json` or the project without one.
 * Undefined if the change does not bring that time forward.
 */
export function activeKeysEnd(
  before: readonly ActiveKey[],
  after: readonly ActiveKey[],
  now: string,
): ActiveKeysEnd | undefined {
  const all = earlierEnd(before, after, now)
  const common = earlierEnd(before.filter(isInCommonJwks), after.filter(isInCommonJwks), now)
  const time = common ?? all
  return time === undefined ? undefined : { time, isOfCommonJwks: time !== all }
}

function earlierEnd(
  before: readonly ActiveKey[],
  after: readonly ActiveKey[],
  now: string,
): string | undefined {
  const end = lastExpiry(after, now)
  const previous = lastExpiry(before, now)
  const isEarlier = end !== undefined && (previous === undefined || end < previous)
  return isEarlier ? end : undefined
}

/** The same for the patch of one of these keys. */
export function patchedKeysEnd(
  keys: readonly KeyRecord[],
  patched: KeyRecord,
  now: string,
): ActiveKeysEnd | undefined {
  const after = keys.map((key) => (key.id === patched.id ? patched : key))
  const activeOf = (all: readonly KeyRecord[]) => all.filter((key) => isActive(key, now))
  return activeKeysEnd(activeOf(keys), activeOf(after), now)
}

/** The warnings about the patch of a key, given all keys of its project before it. */
export function patchWarnings(
  keys: readonly KeyRecord[],
  [before, patched]: [before: KeyRecord, patched: KeyRecord],
  now: string,
): KeyWarning[] {
  const warnings: KeyWarning[] = []
  const lastEnd = patchedKeysEnd(keys, patched, now)
  if (lastEnd !== undefined) {
    warnings.push({ code: 'last_active_key', detail: lastActiveDetail(lastEnd, now) })
  }
  const end = patchedKeysEnd([before], patched, now)?.time
  const vouched = end === undefined ? [] : activeVouched(keys, patched.id, end)
  if (vouched.length > 0) {
    warnings.push({ code: 'vouched_keys_active', detail: vouchedDetail(vouched) })
  }
  return warnings
}

function lastActiveDetail({ time, isOfCommonJwks }: ActiveKeysEnd, now: string): string {
  if (isOfCommonJwks) {
    const subject =
      time === now
        ? 'This was the last active key in jwks.json'
        : `No key in jwks.json is active from ${time} on`
    return `${subject}: verifiers that read it accept no token until another RSA, EC or OKP key is active. ML-DSA keys are in jwks-full.json alone.`
  }
  return time === now
    ? 'This was the last active key: no token of the project verifies until another key is active.'
    : `No key of the project is active from ${time} on: no token verifies then, unless another key is registered or activated.`
}

/** The changes in the event of a deletion. */
export function deletedKeyChanges(key: KeyRecord): EventChanges {
  const { label, thumbprint, publishedKid, endReason: reason } = key
  return {
    label: { from: label },
    thumbprint: { from: thumbprint },
    ...(publishedKid === undefined ? {} : { publishedKid: { from: publishedKid } }),
    ...(reason === undefined ? {} : { reason: { from: reason } }),
  }
}
