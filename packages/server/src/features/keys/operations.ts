import type { RequestContext } from '../../kernel/access/principal.ts'
import type { Context, CoreConfig } from '../../kernel/context.ts'
import { collectFaults, notFound, rejection, type Submitted } from '../../kernel/faults.ts'
import { isActive, parseExpiryPatch, requireValidExpiry } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import {
  type KeyLimits,
  type KeyReference,
  type KeyUpdate,
  keyChanges,
  keySubmitted,
} from './changes.ts'
import type { JwtKey, JwtKeyCreate, JwtKeyUpdate, JwtKeyWithDetails, KeyUse } from './contract.ts'
import { rejectPrivateKeys } from './exposure/incidents.ts'
import { convergedTime } from './jwks.ts'
import { keySetOf } from './key-sets.ts'
import { findByKid } from './kids.ts'
import { examineSubmission, examineText, parseKeyLabel } from './registration/submission.ts'
import { endOf, keyState, type StateSituation } from './states.ts'
import type { KeyRecord, KeySet } from './stored.ts'

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
    ...present({ expireTime: key.expireTime }),
  }
}

export function toJwtKeyWithDetails(
  key: KeyRecord,
  situation: StateSituation,
  use?: KeyUse,
): JwtKeyWithDetails {
  const { time, jwksMaxAge } = situation
  return {
    ...toJwtKey(key, time),
    details: {
      state: keyState(key, situation),
      kty: key.jwk.kty,
      ...present({ bits: key.bits, crv: 'crv' in key.jwk ? key.jwk.crv : undefined }),
      jwsAlgorithm: key.jwsAlgorithm,
      thumbprint: key.thumbprint,
      spkiSha256: key.spkiSha256,
      convergedTime: convergedTime(key, time, jwksMaxAge),
      ...present({ publishedKid: key.publishedKid, introducedBy: key.introducedBy }),
      ...present({ ended: endOf(key, time), use }),
    },
  }
}

/**
 * Registers a public key. Throws every fault of the key and its fields, `duplicate_key`,
 * `key_limit_reached`, `jwks_too_large` or `key_not_vouched`. Of a submitted private key it stores only the hashes of the
 * public half.
 */
export async function createKey(
  context: RequestContext,
  projectId: string,
  submission: Submitted<JwtKeyCreate>,
): Promise<KeyRecord> {
  const { origin, principal } = context
  const { proof } = submission.fields
  await rejectPrivateKeys(context, { '/proof': proof }, projectId)
  const verdict = await examineText(context, submission)
  const examined = await examineSubmission(context, projectId, submission, verdict)
  if (Array.isArray(examined)) throw rejection(examined)
  const key = { ...examined, projectId }
  const checks = await context.hooks.run(keySubmitted, context, key, proof)
  if (checks.length === 0 && (principal.voucher !== undefined || proof !== undefined)) {
    throw new Error('no feature checks whether the key belongs to the caller')
  }
  return context.store.commit(keyChanges.createKey, {
    origin,
    limits: keyLimits(context.config),
    key,
  })
}

/** Throws `project_not_found` if the project was deleted after the access check. */
export async function requireKeySet({ store }: Context, projectId: string): Promise<KeySet> {
  const keySet = await keySetOf(store, projectId)
  if (keySet === undefined) throw notFound('project_not_found')
  return keySet
}

/**
 * Applies a merge patch (RFC 7396). A patch that changes nothing leaves `updateTime` and the revision
 * as they are. Throws `key_not_found`, `precondition_failed`, `key_compromised` or `jwks_too_large`.
 */
export async function updateKey(
  context: RequestContext,
  key: KeyReference,
  { fields, malformed }: Submitted<JwtKeyUpdate>,
): Promise<KeyUpdate> {
  const { name, label, expireTime, ...rest } = fields
  const { store, config, origin } = context
  await rejectPrivateKeys(
    context,
    { '/name': name, '/label': label, '': malformed?.text },
    key.projectId,
  )
  const { faults, attempt, throwAny } = collectFaults(malformed?.faults)
  const patch: JwtKeyUpdate = {
    ...rest,
    ...attempt(() => present({ label: parseKeyLabel({ name, label }) })),
    ...attempt(() => parseExpiryPatch(expireTime)),
  }
  if (faults.length > 0 && !faults.some(({ pointer }) => pointer === '/expireTime')) {
    // Whether the time is a fault too depends on the stored key.
    const { keys } = await requireKeySet(context, key.projectId)
    attempt(() => requireValidExpiry(findByKid(keys, key.kid) ?? {}, patch, origin.time))
  }
  throwAny()
  const limits = keyLimits(config)
  return store.commit(keyChanges.updateKey, { origin, ...key, patch, limits })
}

/**
 * Deletes an inactive key. Throws `key_not_found`, `key_active` or `precondition_failed`.
 */
export async function deleteKey(
  { store, origin }: RequestContext,
  key: KeyReference,
): Promise<void> {
  await store.commit(keyChanges.deleteKey, { origin, ...key })
}

export function keyLimits(config: CoreConfig): KeyLimits {
  return { maxKeys: config.maxKeysPerProject, maxJwksBytes: config.maxJwksBytes }
}
