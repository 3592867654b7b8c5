import type { Verdict } from '@pubring/intake'
import { type Algorithm, jwsAlgorithmOf } from '@pubring/intake/algorithms'
import { type FieldError, invalidField } from '../../../errors.ts'
import type { RequestContext } from '../../../kernel/access/principal.ts'
import type { CoreConfig } from '../../../kernel/context.ts'
import { collectFaults, type Submitted } from '../../../kernel/faults.ts'
import { isKid, newId } from '../../../kernel/values/ids.ts'
import { parseLabel } from '../../../kernel/values/labels.ts'
import { parseExpireTime, parseTime } from '../../../kernel/values/times.ts'
import { present } from '../../../runtime/present.ts'
import type { KeyImportItem } from '../contract.ts'
import { rejectPrivateKeys, requireAccepted } from '../exposure/incidents.ts'
import { linkFaults } from '../introduction.ts'
import { parsePublishedKid } from '../kids.ts'
import { requireValidReason } from '../patches.ts'
import type { KeyRecord } from '../stored.ts'

/** One submitted key; only imports carry `kid`, `createTime`, `updateTime`. */
export type Submission = Submitted<KeyImportItem>

/** The verdict on the key; undefined if `publicKeyPem` is missing or no text. */
export async function examineText(
  context: RequestContext,
  { fields: { publicKeyPem, algorithm } }: Submission,
): Promise<Verdict | undefined> {
  return publicKeyPem === undefined ? undefined : context.intake.examine(publicKeyPem, algorithm)
}

/**
 * The record of the key but for its project, or every fault of the submission: those of the key first,
 * then those of the other fields. A private key in any field is recorded.
 */
export async function examineSubmission(
  context: RequestContext,
  projectId: string | undefined,
  { fields, malformed }: Submission,
  verdict: Verdict | undefined,
): Promise<Omit<KeyRecord, 'projectId'> | FieldError[]> {
  const { faults, attempt, attemptAsync } = collectFaults()
  const accepted =
    verdict && (await attemptAsync(() => requireAccepted(context, projectId, verdict)))
  const { name, label, publishedKid, ...others } = fields
  const before = faults.length
  const texts = { '/name': name, '/label': label, '/publishedKid': publishedKid }
  await attemptAsync(() => rejectPrivateKeys(context, texts, projectId))
  const areTextsSafe = faults.length === before
  if (malformed !== undefined) {
    if (!faults.some(({ code }) => code === 'private_key_submitted')) {
      await attemptAsync(() => rejectPrivateKeys(context, { '': malformed.text }, projectId))
    }
    faults.push(...malformed.faults)
  }
  attempt(() => requireAllowed(fields.algorithm, context.config))
  const { link } = context.principal
  if (link !== undefined) faults.push(...linkFaults(fields, link))
  const parsed = parseFields(areTextsSafe ? fields : others, context.origin.time, attempt)
  if (faults.length > 0) return faults
  if (accepted === undefined || parsed === undefined) throw new Error('a fault was not reported')
  const { kty: _kty, crv: _crv, algorithms: _algorithms, ...stored } = accepted.key
  const { jwsAlgorithm, normalised } = accepted
  return { ...parsed, publishTime: context.origin.time, ...stored, jwsAlgorithm, normalised }
}

/** The members of the record that come from the fields; undefined if a required one is missing or invalid. */
function parseFields(
  fields: Partial<KeyImportItem>,
  now: string,
  attempt: ReturnType<typeof collectFaults>['attempt'],
) {
  const { kid, publishedKid, algorithm, active: enabled = true, reason } = fields
  const id = attempt(() => parseKid(kid))
  const published = attempt(() =>
    publishedKid === undefined ? {} : { publishedKid: parsePublishedKid(publishedKid) },
  )
  const times = attempt(() => parseTimes(fields, now))
  const label = attempt(() => parseKeyLabel(fields))
  const expiry = attempt(() => parseExpiry(fields, now, times?.createTime ?? now))
  // An audit marks an active key as compromised without ending it, and an import restores that.
  const needsEnd = reason !== 'compromised'
  attempt(() => expiry && needsEnd && requireValidReason({ enabled, ...expiry }, fields))
  if (!id || !published || !times || !label || !expiry || !algorithm) return undefined
  const endReason = reason === 'unspecified' ? undefined : reason
  return {
    id,
    ...published,
    label,
    algorithm,
    enabled,
    ...expiry,
    ...times,
    ...present({ endReason }),
  }
}

/** Throws `invalid_request` for an algorithm that the configuration excludes. */
export function requireAllowed(
  algorithm: Algorithm | undefined,
  { algorithms }: CoreConfig,
  pointer = '/algorithm',
): void {
  if (algorithm === undefined || algorithms.includes(jwsAlgorithmOf(algorithm))) return
  const detail = `This server takes keys for ${algorithms.join(', ')} only (PUBRING_ALGORITHMS).`
  throw invalidField(pointer, 'algorithm_not_allowed', detail)
}

function parseKid(kid: string | undefined): string {
  if (kid === undefined || isKid(kid)) return kid ?? newId()
  throw invalidField('/kid', 'kid_invalid', 'kid must be a lower-case UUID (RFC 9562).')
}

function parseTimes(fields: Partial<KeyImportItem>, now: string) {
  const createTime = parsePastTime(fields.createTime, 'createTime', now)
  const updateTime = parsePastTime(fields.updateTime ?? fields.createTime, 'updateTime', now)
  if (updateTime >= createTime) return { createTime, updateTime }
  throw invalidField(
    '/updateTime',
    'time_order',
    'updateTime must not lie before createTime. To set updateTime, set createTime too.',
  )
}

/**
 * `name` and `label` are two spellings of one field; two different values are an error. Undefined if
 * both are missing.
 */
export function parseKeyLabel({
  name,
  label,
}: { [Name in 'name' | 'label']?: string | undefined }): string | undefined {
  if (name !== undefined && label !== undefined && name.trim() !== label.trim()) {
    throw invalidField(
      '/label',
      'label_conflict',
      'name and label are two spellings of one field, and their values differ. Send only one.',
    )
  }
  if (name !== undefined) return parseLabel(name, '/name')
  return label === undefined ? undefined : parseLabel(label, '/label')
}

/** A restored key, one with a `createTime`, may have expired since. */
function parseExpiry(
  { expireTime, createTime: restored }: Partial<KeyImportItem>,
  now: string,
  createTime: string,
): { expireTime?: string } {
  if (expireTime === undefined) return {}
  if (restored === undefined) return { expireTime: parseExpireTime(expireTime, now) }
  const time = parseTime(expireTime)
  if (time > createTime) return { expireTime: time }
  throw invalidField('/expireTime', 'time_order', 'expireTime must lie after createTime.')
}

function parsePastTime(text: string | undefined, field: string, now: string): string {
  if (text === undefined) return now
  const time = parseTime(text, field)
  if (time <= now) return time
  throw invalidField(`/${field}`, 'time_future', `${field} must not lie in the future.`)
}
