import { isActive, isExpired, isoTime } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import type { ApiKeyRecord } from '../api-keys/stored.ts'
import { vouchedDetail } from '../keys/roles.ts'
import type { KeyState } from '../keys/stored.ts'
import type { OpenRotation } from '../rotations/stored.ts'
import type { Warning } from './contract.ts'

const dayMs = 86_400_000

/** Days ahead of an expiry, and after the last use of an API key. */
const warningDays = 30
const unusedDays = 90

/** Severities, the most urgent first. */
export const urgency: readonly Warning['severity'][] = ['critical', 'warning', 'info']

/** The last expiry that is warned about at the time (both ISO 8601). */
export function lastWarnedExpiry(time: string): string {
  return daysAfter(time, warningDays)
}

function daysAfter(time: string, days: number): string {
  return isoTime(Date.parse(time) + days * dayMs)
}

function severityOfExpiry(expireTime: string, time: string): Warning['severity'] {
  if (expireTime <= daysAfter(time, 1)) return 'critical'
  return expireTime <= daysAfter(time, 7) ? 'warning' : 'info'
}

/** The labels by which `pubring_warnings` counts. */
export type WarningKind = Pick<Warning, 'code' | 'severity'>

export function expiringKey(expireTime: string, time: string): WarningKind {
  return { code: 'key_expires', severity: severityOfExpiry(expireTime, time) }
}

export const withVouchedKeys: WarningKind = { code: 'vouched_keys_active', severity: 'info' }

export const withoutActiveKey: WarningKind = { code: 'no_active_key', severity: 'warning' }

/** The warnings about the keys of one project. The census of storage counts by the same rules. */
export function keyWarnings(keys: readonly KeyState[], time: string): Warning[] {
  const active = keys.filter((key) => isActive(key, time))
  const [first] = keys
  if (first !== undefined && active.length === 0) {
    const detail =
      'The project has keys, and none is active: verifiers reject all its tokens. Activate a key or register one, or delete the project if it is not used any more.'
    return [{ ...withoutActiveKey, projectId: first.projectId, detail }]
  }
  const upTo = lastWarnedExpiry(time)
  const succeeded = findSucceeded(active)
  const expiring = active.flatMap((key): Warning[] => {
    const { id: kid, projectId, label, expireTime } = key
    if (expireTime === undefined || expireTime > upTo || succeeded.has(kid)) return []
    const detail = `It expires at ${expireTime}, and the project has no newer active key that remains. Register its successor now and sign with that before then, or change its expireTime.`
    return [{ ...expiringKey(expireTime, time), projectId, kid, label, time: expireTime, detail }]
  })
  return [...expiring, ...vouchedWarnings(keys, active)]
}

/** The warnings about keys that are off, expired or deleted, and vouched for active ones. */
function vouchedWarnings(keys: readonly KeyState[], active: readonly KeyState[]): Warning[] {
  const byVoucher = Map.groupBy(active, ({ introducedBy }) => introducedBy)
  return [...byVoucher].flatMap(([kid, vouched]) => {
    if (kid === undefined || active.some(({ id }) => id === kid)) return []
    const [{ projectId } = { projectId: '' }] = vouched
    const label = keys.find(({ id }) => id === kid)?.label
    return [
      { ...withVouchedKeys, projectId, kid, ...present({ label }), detail: vouchedDetail(vouched) },
    ]
  })
}

/** The ids of keys that one which was registered later outlives. */
function findSucceeded(active: readonly KeyState[]): Set<string> {
  const succeeded = new Set<string>()
  const byCreateTime = Map.groupBy(active, ({ createTime }) => createTime)
  let latestExpiry = Number.NEGATIVE_INFINITY
  for (const createTime of [...byCreateTime.keys()].sort().reverse()) {
    const keys = byCreateTime.get(createTime) ?? []
    for (const key of keys) if (expiryMs(key) < latestExpiry) succeeded.add(key.id)
    latestExpiry = keys.reduce((latest, key) => Math.max(latest, expiryMs(key)), latestExpiry)
  }
  return succeeded
}

function expiryMs({ expireTime }: KeyState): number {
  return expireTime === undefined ? Number.POSITIVE_INFINITY : Date.parse(expireTime)
}

/** Rotations whose old key exists and has not expired, with which they end. */
export function liveRotations(
  rotations: readonly OpenRotation[],
  keys: readonly KeyState[],
  time: string,
): (OpenRotation & { from: KeyState })[] {
  const byId = new Map(keys.map((key) => [key.id, key]))
  return rotations.flatMap((rotation) => {
    const from = byId.get(rotation.fromKid)
    return from === undefined || isExpired(from, time) ? [] : [{ ...rotation, from }]
  })
}

export function apiKeyWarnings(
  apiKey: Omit<ApiKeyRecord, 'digest' | 'role' | 'prefix'>,
  time: string,
): Warning[] {
  if (!isActive(apiKey, time)) return []
  const { id: apiKeyId, name: label, projectId, expireTime, createTime, lastUseTime } = apiKey
  const subject = { ...present({ projectId }), apiKeyId, label }
  const warnings: Warning[] = []
  const upTo = lastWarnedExpiry(time)
  if (expireTime !== undefined && expireTime <= upTo) {
    const severity = severityOfExpiry(expireTime, time)
    const detail = `The API key expires at ${expireTime}. Give its holder another one before then, or change its expireTime.`
    warnings.push({ code: 'api_key_expires', severity, ...subject, time: expireTime, detail })
  }
  if ((lastUseTime ?? createTime) <= daysAfter(time, -unusedDays)) {
    const used = lastUseTime === undefined ? 'never used' : `not used since ${lastUseTime}`
    const detail = `The API key was ${used}. Revoke it if nothing needs it: if its secret leaked, nothing would show it.`
    const last = present({ time: lastUseTime })
    warnings.push({ code: 'api_key_unused', severity: 'info', ...subject, ...last, detail })
  }
  return warnings
}
