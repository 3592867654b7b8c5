import type { JwtKey, JwtKeyCreate, JwtKeyUpdate, JwtKeyWithDetails } from '../../contract/keys.ts'
import { invalidField, PubringError } from '../../errors.ts'
import type { Accepted, PublicKey } from '../../intake/types.ts'
import { projectNotFound } from '../access.ts'
import type { Context, CoreConfig } from '../context.ts'
import { newId, parseId } from '../ids.ts'
import type { KeyLimits, KeyPatch, Origin } from '../ledger/changes.ts'
import type { KeyRecord, KeySet } from '../records.ts'
import { parseExpireTime, parseTime } from '../times.ts'
import { rejectPrivateKeys, requireAcceptedKey } from './intake.ts'
import { convergedTime, isActive } from './jwks.ts'
import { parseLabel } from './labels.ts'

export function toJwtKey(key: KeyRecord, time: string): JwtKey {
  return {
    id: key.id,
    projectId: key.projectId,
    label: key.label,
    algorithm: key.algorithm,
    publicKeyPem: key.publicKeyPem,
    active: isActive(key, time),
    createTime: key.createTime,
    updateTime: key.updateTime,
    ...(key.expireTime === undefined ? {} : { expireTime: key.expireTime }),
  }
}

export function toJwtKeyWithDetails(
  key: KeyRecord,
  time: string,
  config: CoreConfig,
): JwtKeyWithDetails {
  return {
    ...toJwtKey(key, time),
    details: {
      kty: key.jwk.kty,
      ...(key.bits === undefined ? {} : { bits: key.bits }),
      ...('crv' in key.jwk ? { crv: key.jwk.crv } : {}),
      jwsAlgorithm: key.jwsAlgorithm,
      thumbprint: key.thumbprint,
      spkiSha256: key.spkiSha256,
      convergedTime: convergedTime(key, time, config.jwksMaxAge),
    },
  }
}

/**
 * Registers a public key. Refuses with the intake's code, `duplicate_key`, `key_limit_reached` or
 * `jwks_too_large`; of a submitted private key nothing is kept but the hashes of its public half.
 */
export async function createKey(
  context: Context,
  projectId: string,
  origin: Origin,
  body: JwtKeyCreate,
): Promise<KeyRecord> {
  const incident = { projectId, origin }
  // Before anything else is wrong with the request: a private key counts as submitted all the same.
  await rejectPrivateKeys(context, incident, { '/name': body.name, '/label': body.label })
  const { publicKeyPem, algorithm, expireTime } = body
  const accepted = await requireAcceptedKey(context, incident, publicKeyPem, algorithm)
  const createTime = origin.time
  const { clock, config, store } = context
  return store.commit({
    type: 'key.create',
    origin,
    limits: keyLimits(config),
    key: newKeyRecord(accepted, {
      id: newId(),
      projectId,
      label: parseKeyLabel(body),
      algorithm,
      enabled: body.active ?? true,
      ...(expireTime === undefined ? {} : { expireTime: parseExpireTime(expireTime, clock) }),
      createTime,
      updateTime: createTime,
      publishTime: createTime,
    }),
  })
}

/** The record of a key that the intake accepted. */
export function newKeyRecord(
  { key, jwsAlgorithm, normalised }: Accepted,
  given: Omit<KeyRecord, 'jwsAlgorithm' | 'normalised' | keyof PublicKey>,
): KeyRecord {
  return {
    ...given,
    publicKeyPem: key.publicKeyPem,
    jwsAlgorithm,
    jwk: key.jwk,
    ...(key.bits === undefined ? {} : { bits: key.bits }),
    thumbprint: key.thumbprint,
    spkiSha256: key.spkiSha256,
    materialSha256: key.materialSha256,
    normalised,
  }
}

/** `name` and `label` are two spellings of one thing; both and different is an error. */
export function parseKeyLabel(body: Pick<JwtKeyCreate, 'name' | 'label'>): string {
  const { name, label } = body
  if (name !== undefined && label !== undefined && name.trim() !== label.trim()) {
    throw invalidField(
      '/label',
      'label_conflict',
      'name and label are two spellings of one field and differ here: send one of them.',
    )
  }
  if (name !== undefined) return parseLabel(name, '/name')
  if (label !== undefined) return parseLabel(label, '/label')
  throw invalidField('/name', 'required', 'name is required: a label for the key.')
}

/** Throws `project_not_found` where the project was deleted since the path was looked up. */
export async function requireKeySet(context: Context, projectId: string): Promise<KeySet> {
  const found = await context.store.keySet(projectId)
  if (found === undefined) throw projectNotFound()
  return found
}

export function keyNotFound(): PubringError {
  return new PubringError(
    'key_not_found',
    'The project has no key with this kid. List its keys to see those it has.',
  )
}

/**
 * Applies a merge patch (RFC 7396) to one key; a patch that changes nothing leaves `updateTime` and
 * the revision alone. Throws `key_not_found`, `precondition_failed` or `jwks_too_large`.
 */
export async function updateKey(
  context: Context,
  about: KeyReference,
  origin: Origin,
  body: JwtKeyUpdate,
): Promise<KeyRecord> {
  const { label, expireTime, ...rest } = body
  const { projectId } = about
  await rejectPrivateKeys(context, { projectId, origin }, { '/label': label })
  const patch: KeyPatch = {
    ...rest,
    ...(label === undefined ? {} : { label: parseLabel(label, '/label') }),
    ...(expireTime === undefined ? {} : { expireTime: expireTime && parseTime(expireTime) }),
  }
  const limits = keyLimits(context.config)
  return context.store.commit({
    type: 'key.update',
    origin,
    ...located(about, context.config),
    patch,
    limits,
  })
}

/** Deletes a key that is not active. Throws `key_not_found`, `key_active`, `precondition_failed`. */
export async function deleteKey(
  context: Context,
  about: KeyReference,
  origin: Origin,
): Promise<void> {
  await context.store.commit({ type: 'key.delete', origin, ...located(about, context.config) })
}

/** A key as a request names it: by the path, and by the state it wants to change (`If-Match`). */
export interface KeyReference {
  projectId: string
  kid: string
  ifMatch?: string | undefined
}

function located({ projectId, kid, ifMatch }: KeyReference, { jwksMaxAge }: CoreConfig) {
  const id = parseId(kid)
  if (id === undefined) throw keyNotFound()
  return {
    projectId,
    kid: id,
    ...(ifMatch === undefined ? {} : { precondition: { ifMatch, jwksMaxAge } }),
  }
}

export function keyLimits(config: CoreConfig): KeyLimits {
  return { maxKeys: config.maxKeysPerProject, maxJwksBytes: config.maxJwksBytes }
}
