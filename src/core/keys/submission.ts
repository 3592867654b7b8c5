import type { KeyImportItem } from '../../contract/key-imports.ts'
import { invalidField } from '../../errors.ts'
import type { Accepted, PublicKey } from '../../intake/types.ts'
import { parseExpireTime } from '../expiry.ts'
import { isKid, newId } from '../ids.ts'
import { parseLabel } from '../labels.ts'
import type { KeyRecord } from '../records.ts'
import { parseTime } from '../times.ts'

/** The fields of one submitted key besides its PEM; only imports carry `kid`, `createTime`, `updateTime`. */
type SubmittedFields = Omit<KeyImportItem, 'publicKeyPem'>

/** What the record of a key takes from these fields; throws `invalid_request` for the first bad one. */
export function parseFields(fields: SubmittedFields, now: string) {
  const { kid, algorithm, active = true } = fields
  if (kid !== undefined && !isKid(kid)) {
    throw invalidField('/kid', 'kid_invalid', 'kid must be a lower-case UUID (RFC 9562).')
  }
  const createTime = parsePastTime(fields.createTime, 'createTime', now)
  const updateTime = parsePastTime(fields.updateTime ?? fields.createTime, 'updateTime', now)
  if (updateTime < createTime) {
    throw invalidField(
      '/updateTime',
      'time_order',
      'updateTime must not lie before createTime. To set updateTime, set createTime too.',
    )
  }
  return {
    id: kid ?? newId(),
    label: parseKeyLabel(fields),
    algorithm,
    enabled: active,
    ...parseExpiry(fields, now, createTime),
    createTime,
    updateTime,
  } satisfies Partial<KeyRecord>
}

/** The record of a key that intake accepted. */
export function newKeyRecord(
  { key, jwsAlgorithm, normalised }: Accepted,
  fields: Omit<KeyRecord, 'jwsAlgorithm' | 'normalised' | keyof PublicKey>,
): KeyRecord {
  const { kty: _kty, crv: _crv, algorithms: _algorithms, ...stored } = key
  return { ...fields, ...stored, jwsAlgorithm, normalised }
}

/** `name` and `label` are two spellings of one field; two different values are an error. */
function parseKeyLabel({ name, label }: Pick<SubmittedFields, 'name' | 'label'>): string {
  if (name !== undefined && label !== undefined && name.trim() !== label.trim()) {
    throw invalidField(
      '/label',
      'label_conflict',
      'name and label are two spellings of one field, and their values differ. Send only one.',
    )
  }
  if (name !== undefined) return parseLabel(name, '/name')
  if (label !== undefined) return parseLabel(label, '/label')
  throw invalidField('/name', 'required', 'name is required: a label for the key.')
}

/** A restored key, one with a `createTime`, may have expired since. */
function parseExpiry(
  { expireTime, createTime: restored }: SubmittedFields,
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
