import { PubringError } from '../../errors.ts'
import type { KeyLimits, KeyPatch } from '../ledger/changes.ts'
import type { KeyRecord } from '../records.ts'
import { latest } from '../times.ts'
import { requireJwksCapacity, submittedBefore } from './admission.ts'
import { jwksBytes, withJwkText } from './jwks.ts'

/** Throws `jwks_too_large` where the patched key no longer fits the key set of its project. */
export function requirePatchCapacity(
  all: readonly KeyRecord[],
  patched: KeyRecord,
  limits: KeyLimits,
  now: string,
): void {
  const keys = all.map((key) => withJwkText(key.id === patched.id ? patched : key))
  requireJwksCapacity(jwksBytes(keys, now), limits)
}

/** The patched key; the same record, `updateTime` included, where the patch changes nothing. */
export function patchKey(key: KeyRecord, patch: KeyPatch, now: string): KeyRecord {
  const { expireTime: before, ...rest } = key
  const expireTime = patch.expireTime === undefined ? before : (patch.expireTime ?? undefined)
  const label = patch.label ?? key.label
  const enabled = patch.active ?? key.enabled
  const isPublishedChange = enabled !== key.enabled || expireTime !== before
  if (!isPublishedChange && label === key.label) return key
  const updateTime = latest(now, key.updateTime)
  return {
    ...rest,
    label,
    enabled,
    ...(expireTime === undefined ? {} : { expireTime }),
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
