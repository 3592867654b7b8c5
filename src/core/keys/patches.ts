import type { JwtKeyUpdate } from '../../contract/keys.ts'
import { PubringError } from '../../errors.ts'
import { patchExpireTime } from '../expiry.ts'
import type { KeyLimits } from '../ledger/changes.ts'
import type { KeyRecord } from '../records.ts'
import { latest } from '../times.ts'
import { requireJwksCapacity, submittedBefore } from './admission.ts'
import { jwksBytes, withJwkText } from './jwks.ts'

/** Throws `jwks_too_large` if the patched key no longer fits the key set of its project. */
export function requirePatchCapacity(
  all: readonly KeyRecord[],
  patched: KeyRecord,
  limits: KeyLimits,
  now: string,
): void {
  const keys = all.map((key) => withJwkText(key.id === patched.id ? patched : key))
  requireJwksCapacity(jwksBytes(keys, now), limits)
}

/** The patched key; the same record, `updateTime` included, if the patch changes nothing. */
export function patchKey(key: KeyRecord, patch: JwtKeyUpdate, now: string): KeyRecord {
  const { expireTime: before, ...rest } = key
  const expiry = patchExpireTime(key, patch)
  const label = patch.label ?? key.label
  const enabled = patch.active ?? key.enabled
  const isPublishedChange = enabled !== key.enabled || expiry.expireTime !== before
  if (!isPublishedChange && label === key.label) return key
  const updateTime = latest(now, key.updateTime)
  return {
    ...rest,
    label,
    enabled,
    ...expiry,
    updateTime,
    publishTime: isPublishedChange ? updateTime : key.publishTime,
  }
}

/** Throws `compromised_key`: a key whose private half was submitted can only be deactivated. */
export function rejectBlockedActivation(): never {
  const { code, detail } = submittedBefore
  throw new PubringError('compromised_key', detail, {
    errors: [{ pointer: '/active', code, detail }],
  })
}
