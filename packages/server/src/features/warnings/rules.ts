import { isInCommonJwks } from '@pubring/intake/algorithms'
import { isActive, isoTime } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import type { ApiKeyRecord } from '../api-keys/stored.ts'
import { awaitsApproval, isThroughLink } from '../keys/introduction.ts'
import { vouchedDetail } from '../keys/states.ts'
import type { KeySummary } from '../keys/stored.ts'
import type { ReplacedKey } from '../rotations/reads.ts'
import type { Warning } from './contract.ts'

const dayMs = 86_400_000

/** Days ahead of an expiry, and after the last use of an API key. */
const warningDays = 30
const unusedDays = 90

/** Severities, the most urgent first. */
const urgency: readonly Warning['severity'][] = ['critical', 'warning', 'info']

/** Sorts the most urgent warnings first. */
export function compareUrgency(one: Warning, other: Warning): number {
  const bySeverity = urgency.indexOf(one.severity) - urgency.indexOf(other.severity)
  return bySeverity || (one.time ?? '').localeCompare(other.time ?? '')
}

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

/** The keys of a project and their replacements, on which its warnings depend. */
export interface ProjectKeys {
  keys: readonly KeySummary[]
  replacements: readonly ReplacedKey[]
}

/** The warnings about the keys of one project. The one place that decides them. */
export function keyWarnings({ keys, replacements }: ProjectKeys, time: string): Warning[] {
  const active = keys.filter((key) => isActive(key, time))
  const upTo = lastWarnedExpiry(time)
  const isSucceeded = successionOf(active, replacements)
  const endangered = active.flatMap((key): Warning[] => {
    const { id: kid, projectId, label, expireTime, endReason } = key
    const subject = { projectId, kid, label }
    if (endReason === 'compromised') return [{ ...compromised, ...subject }]
    if (expireTime === undefined || expireTime > upTo) return []
    if (isSucceeded(key)) return []
    const detail = `It expires at ${expireTime}, and no key succeeds it. Start a rotation, register its successor under the same label, or change its expiry.`
    const severity = severityOfExpiry(expireTime, time)
    return [{ code: 'key_expires', severity, ...subject, time: expireTime, detail }]
  })
  return [
    ...withoutActiveKey(keys, active),
    ...endangered,
    ...vouchedWarnings(keys, active),
    ...approvalWarnings(keys, time),
  ]
}

const compromised = {
  code: 'key_compromised',
  severity: 'critical',
  detail:
    'Its private key is known to others, who can sign tokens that verifiers accept. Replace it and deactivate it now.',
} as const

/**
 * Finds whether another active key outlives a key that it replaces: by a rotation, because that key vouched
 * for it, or because both have one label. A key that only jwks-full.json has succeeds none in jwks.json.
 */
function successionOf(active: readonly KeySummary[], replacements: ProjectKeys['replacements']) {
  const heirs = active
    .filter(({ endReason }) => endReason !== 'compromised')
    .toSorted((one, other) => (endOf(one) > endOf(other) ? -1 : 1))
  const byLabel = Map.groupBy(heirs, ({ label }) => label)
  const byVoucher = Map.groupBy(heirs, ({ introducedBy }) => introducedBy)
  const byReplaced = Map.groupBy(replacements, ({ fromKid }) => fromKid)
  const byId = Map.groupBy(heirs, ({ id }) => id)
  return (key: KeySummary): boolean => {
    const fits = (heir: KeySummary) => isInCommonJwks(heir) || !isInCommonJwks(key)
    const replacing = byReplaced.get(key.id)?.map(({ toKid }) => byId.get(toKid)) ?? []
    return [byLabel.get(key.label), byVoucher.get(key.id), ...replacing].some((group) => {
      const last = group?.find(fits)
      return last !== undefined && endOf(last) > endOf(key)
    })
  }
}

/** Sorts as times do; never is later than every year. */
const endOf = ({ expireTime = '~' }: KeySummary) => expireTime

function withoutActiveKey(keys: readonly KeySummary[], active: readonly KeySummary[]): Warning[] {
  const isLacking = (all: readonly KeySummary[], left: readonly KeySummary[]) =>
    all.length > 0 && left.length === 0
  const [{ projectId } = { projectId: '' }] = keys
  const warning = { code: 'no_active_key', severity: 'warning', projectId } as const
  if (isLacking(keys, active)) {
    const detail =
      'The project has keys, and none is active: verifiers reject all its tokens. Activate a key or register one, or delete the project if it is not used any more.'
    return [{ ...warning, detail }]
  }
  if (!isLacking(keys.filter(isInCommonJwks), active.filter(isInCommonJwks))) return []
  const detail =
    'None of the keys in jwks.json is active: verifiers that read it reject all tokens of the project. Activate or register an RSA, EC or OKP key, or delete those that are not used any more. ML-DSA keys are in jwks-full.json alone.'
  return [{ ...warning, detail }]
}

/** The warnings about keys that are off, expired or deleted, and vouched for active ones. */
function vouchedWarnings(keys: readonly KeySummary[], active: readonly KeySummary[]): Warning[] {
  const introduced = active.filter((key) => !isThroughLink(key))
  const byVoucher = Map.groupBy(introduced, ({ introducedBy }) => introducedBy)
  return [...byVoucher].flatMap(([kid, vouched]) => {
    if (kid === undefined || active.some(({ id }) => id === kid)) return []
    const [{ projectId } = { projectId: '' }] = vouched
    const label = keys.find(({ id }) => id === kid)?.label
    const subject = { projectId, kid, ...present({ label }) }
    const detail = vouchedDetail(vouched)
    return [{ code: 'vouched_keys_active', severity: 'info', ...subject, detail }]
  })
}

/** The warnings about keys that came through a registration link, and that somebody has to activate. */
function approvalWarnings(keys: readonly KeySummary[], time: string): Warning[] {
  const waiting = keys.filter((key) => awaitsApproval(key, time))
  return waiting.map(({ id: kid, projectId, label }) => {
    const detail =
      'It came through a registration link, and verifiers do not know it yet. Activate it if the right people brought it, or delete it.'
    return { code: 'key_awaits_approval', severity: 'warning', projectId, kid, label, detail }
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
    const detail = `The API key expires at ${expireTime}. Give its holder another one before then, or change its expiry.`
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
