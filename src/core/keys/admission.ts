import { PubringError } from '../../errors.ts'
import { base64urlToBigInt } from '../../intake/encoding/bytes.ts'
import { sharesPrime } from '../../intake/rsa/index.ts'
import type { Fault } from '../../intake/types.ts'
import type { KeyLimits, KeyPatch } from '../ledger/changes.ts'
import type { KeyRecord } from '../records.ts'
import { latest, requireFuture } from '../times.ts'
import { isActive, type JwksPart, jwksOctets, jwksText } from './jwks.ts'

/** What of a registered key matters to one that is to be registered beside it. */
export type AdmissionKey = JwksPart & Pick<KeyRecord, 'thumbprint' | 'materialSha256'>

/** What `admitKey` is to know besides the keys. */
interface Admission {
  limits: KeyLimits
  now: string
  /** Whether the private half was once submitted. */
  blocked: boolean
}

/**
 * Whether a project may take one more key: asked inside the change's own transaction, under the
 * project's lock, so that of two equal creates at once one is refused. Throws a PubringError.
 */
export function admitKey(
  existing: readonly AdmissionKey[],
  key: KeyRecord,
  { limits, now, blocked }: Admission,
): void {
  if (blocked) refuseBlocked()
  const twin = existing.find((other) => other.thumbprint === key.thumbprint)
  if (twin !== undefined) {
    throw new PubringError(
      'duplicate_key',
      `This key is already registered in the project, as ${twin.id}. Use that kid, or send another key.`,
      { kid: twin.id },
    )
  }
  refuseReusedModulus(existing, key)
  if (key.jwk.kty === 'RSA') refuseSharedPrime(existing.map(withJwk), key)
  refuseOneTooMany(existing.length, limits)
  const part = { ...key, jwkText: JSON.stringify(key.jwk) }
  refuseLargeJwks(jwksOctets([...existing, part], now), limits)
}

function withJwk({ id, jwkText }: AdmissionKey): Pick<KeyRecord, 'id' | 'jwk'> {
  return { id, jwk: JSON.parse(jwkText) }
}

/** A key whose private half was submitted is taken into no project. */
export function refuseBlocked(): never {
  throw refusedKey('compromised_key', submittedBefore)
}

export function refuseOneTooMany(count: number, limits: KeyLimits): void {
  if (count < limits.maxKeys) return
  throw new PubringError(
    'key_limit_reached',
    `The project has ${count} keys and may have ${limits.maxKeys}. Delete keys that are no longer used.`,
    { limit: limits.maxKeys },
  )
}

export const submittedBefore: Fault = {
  code: 'key_known_compromised',
  detail:
    'The private half of this key was once submitted here and counts as compromised. Make a new pair.',
}

/** A key whose private half was submitted can be switched off and deleted, never on again. */
export function rejectBlockedActivation(): never {
  const { code, detail } = submittedBefore
  throw new PubringError('compromised_key', detail, {
    errors: [{ pointer: '/active', code, detail }],
  })
}

/** RSA keys that share their modulus fall together, so the second one is refused. */
export function refuseReusedModulus(
  existing: readonly Pick<KeyRecord, 'id' | 'materialSha256'>[],
  key: KeyRecord,
): void {
  if (key.jwk.kty !== 'RSA') return
  const twin = existing.find((other) => other.materialSha256 === key.materialSha256)
  if (twin === undefined) return
  const detail = `This key has the same modulus as the key ${twin.id}: whoever holds one private key holds both. Make a new pair.`
  throw refusedKey('weak_key', { code: 'rsa_modulus_reused', detail })
}

/** So do RSA keys that share a prime. */
export function refuseSharedPrime(
  existing: readonly Pick<KeyRecord, 'id' | 'jwk'>[],
  key: KeyRecord,
): void {
  if (key.jwk.kty !== 'RSA') return
  const others = existing.filter((other) => other.jwk.kty === 'RSA')
  const found = sharesPrime(modulus(key), others.map(modulus))
  const sharer = found === undefined ? undefined : others[found]
  if (sharer !== undefined) throw refusedKey('weak_key', sharedPrime(sharer.id))
}

/** What is wrong with a key that shares a prime with the registered one. */
export function sharedPrime(kid: string): Fault {
  const detail = `This key shares a prime with the key ${kid}: both can be broken. Make new pairs for both, on a machine with a working random generator, and deactivate ${kid}.`
  return { code: 'rsa_shared_prime', detail }
}

function modulus(key: Pick<KeyRecord, 'jwk'>): bigint {
  if (key.jwk.kty !== 'RSA') return 1n
  return base64urlToBigInt(key.jwk.n)
}

function refusedKey(problem: 'weak_key' | 'compromised_key', fault: Fault): PubringError {
  return new PubringError(problem, fault.detail, {
    errors: [{ pointer: '/publicKeyPem', ...fault }],
  })
}

/** Verifiers stop reading a key set at 50 KiB (Nimbus JOSE); one key too many would stop them all. */
export function refuseLargeJwks(bytes: number, limits: KeyLimits): void {
  if (bytes > limits.maxJwksBytes) {
    throw new PubringError(
      'jwks_too_large',
      `With this key the key set would have ${bytes} bytes; verifiers read at most ${limits.maxJwksBytes}. Deactivate keys that are no longer used, or use smaller ones.`,
      { limit: limits.maxJwksBytes },
    )
  }
}

/**
 * The key after the patch, or the very same record where the patch changes nothing (then its
 * `updateTime` stays too). Throws `jwks_too_large` where the patch would publish too much.
 */
export function patchKey(
  all: readonly KeyRecord[],
  key: KeyRecord,
  patch: KeyPatch,
  limits: KeyLimits,
  now: string,
): KeyRecord {
  const { expireTime: before, ...rest } = key
  const expireTime = patch.expireTime === undefined ? before : (patch.expireTime ?? undefined)
  const label = patch.label ?? key.label
  const enabled = patch.active ?? key.enabled
  const published = enabled !== key.enabled || expireTime !== before
  if (!published && label === key.label) return key
  const updateTime = latest(now, key.updateTime)
  const patched: KeyRecord = {
    ...rest,
    label,
    enabled,
    ...(expireTime === undefined ? {} : { expireTime }),
    updateTime,
    publishTime: published ? updateTime : key.publishTime,
  }
  if (isActive(patched, now) && !isActive(key, now)) {
    const keys = all.map((other) => (other.id === key.id ? patched : other))
    refuseLargeJwks(jwksText(keys, now).length, limits)
  }
  return patched
}

/** The key switched off, or the very same record where it is off already. */
export function deactivateKey(key: KeyRecord, now: string): KeyRecord {
  return patchKey([key], key, { active: false }, unlimited, now)
}

const unlimited: KeyLimits = {
  maxKeys: Number.POSITIVE_INFINITY,
  maxJwksBytes: Number.POSITIVE_INFINITY,
}

/**
 * Refuses an `expireTime` in the past, unless it is the one that the key (of either kind) has:
 * whoever sends a key back as it was read changes nothing.
 */
export function requireFutureExpiry(
  before: { expireTime?: string },
  { expireTime }: { expireTime?: string | null },
  now: string,
): void {
  if (typeof expireTime === 'string' && expireTime !== before.expireTime)
    requireFuture(expireTime, now)
}

/** "An expired key is switched on again only by a new or cleared `expireTime`." */
export function rejectExpiredActivation(
  key: { expireTime?: string },
  patch: { active?: boolean; expireTime?: string | null },
  now: string,
): void {
  const expired = key.expireTime !== undefined && key.expireTime <= now
  const kept = patch.expireTime === undefined || patch.expireTime === key.expireTime
  if (expired && patch.active === true && kept) {
    throw new PubringError(
      'invalid_request',
      `This key expired at ${key.expireTime}. Send a later expireTime, or null to clear it, with active.`,
      {
        errors: [
          {
            pointer: '/active',
            code: 'key_expired',
            detail: 'An expired key is switched on again by a new or cleared expireTime.',
          },
        ],
      },
    )
  }
}
