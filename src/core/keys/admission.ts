import { invalidField, PubringError } from '../../errors.ts'
import { base64urlToBigInt } from '../../intake/encoding/bytes.ts'
import { sharesPrime } from '../../intake/rsa/index.ts'
import type { Fault } from '../../intake/types.ts'
import { damagedJwk, parseStored } from '../damaged-keys.ts'
import type { KeyLimits } from '../ledger/changes.ts'
import type { KeyRecord } from '../records.ts'
import { type JwksMember, jwksBytes, withJwkText } from './jwks.ts'
import { type KidOwners, requireFreeKid } from './kids.ts'

/** A registered key, as far as new keys are compared with it. */
export type AdmissionKey = JwksMember & Pick<KeyRecord, 'thumbprint' | 'materialSha256'>

export interface AdmissionRules {
  limits: KeyLimits
  now: string
  /** Thumbprints and material hashes of keys whose private half was submitted. */
  blocked: ReadonlySet<string>
  /** The owners of the kids in this project that new keys are to be published under. */
  publishedKids: KidOwners
  /** Kids of RSA keys that share no prime with the new ones: these are not compared again. */
  compared?: ReadonlySet<string>
}

/**
 * Admits a key to the project of the existing ones, or throws. It runs in the change's transaction,
 * under the project's lock, so that of two concurrent creates of one key one fails.
 */
export function admitKey(
  existing: readonly AdmissionKey[],
  key: KeyRecord,
  rules: AdmissionRules,
): void {
  requireNotBlocked(key, rules.blocked)
  const admission = createAdmission(existing, rules)
  const twin = admission.findTwin(key)
  if (twin !== undefined) {
    throw new PubringError(
      'duplicate_key',
      `The project already has this key, as ${twin.id}. Use that kid, or register another key.`,
      { kid: twin.id },
    )
  }
  const { publishedKid, thumbprint } = key
  if (publishedKid !== undefined) {
    requireFreeKid('publishedKid', publishedKid, thumbprint, rules.publishedKids)
  }
  admission.add(key)
}

export type Admission = ReturnType<typeof createAdmission>

/** Checks new keys of one project, each as if those before it were registered. */
export function createAdmission(existing: readonly AdmissionKey[], rules: AdmissionRules) {
  const { limits, now, compared } = rules
  const byThumbprint = new Map(existing.map((key) => [key.thumbprint, key]))
  const byMaterial = new Map(existing.map((key) => [key.materialSha256, key]))
  let uncompared: RsaKey[] | undefined
  let count = existing.length
  let bytes = jwksBytes(existing, now)
  return {
    size: () => ({ keys: count, jwksBytes: bytes }),
    findTwin: (key: KeyRecord) => byThumbprint.get(key.thumbprint),
    /** Throws `weak_key`, `key_limit_reached` or `jwks_too_large`. */
    add(key: KeyRecord): void {
      const added = withJwkText(key)
      if (key.jwk.kty === 'RSA') {
        requireNewModulus(byMaterial.get(key.materialSha256))
        uncompared ??= existing.filter(({ id }) => !compared?.has(id)).flatMap(rsaKey)
        requireNoSharedPrime(uncompared, base64urlToBigInt(key.jwk.n))
      }
      requireKeyCapacity(count, limits)
      const bytesAfter = jwksBytes([added], now, bytes)
      requireJwksCapacity(bytesAfter, limits)
      byThumbprint.set(key.thumbprint, added)
      byMaterial.set(key.materialSha256, added)
      count += 1
      bytes = bytesAfter
    },
  }
}

export const submittedBefore: Fault = {
  code: 'key_known_compromised',
  detail:
    'The private half of this key was submitted here earlier. Treat the key as compromised: generate a new pair.',
}

/** Throws `compromised_key`. */
export function requireNotBlocked(
  { thumbprint, materialSha256 }: KeyRecord,
  blocked: ReadonlySet<string>,
): void {
  if (blocked.has(thumbprint) || blocked.has(materialSha256)) {
    throw rejectedKey('compromised_key', submittedBefore)
  }
}

/** Keys with one modulus have one private key, so a second one is no replacement for the first. */
function requireNewModulus(twin: AdmissionKey | undefined): void {
  if (twin === undefined) return
  const detail = `This key has the same modulus as the key ${twin.id}: the private key of one is that of the other. Generate a new pair.`
  throw rejectedKey('weak_key', { code: 'rsa_modulus_reused', detail })
}

interface RsaKey {
  kid: string
  modulus: bigint
}

function rsaKey({ id, jwkText }: AdmissionKey): RsaKey[] {
  const jwk = parseStored(jwkText, damagedJwk)
  return jwk.kty === 'RSA' ? [{ kid: id, modulus: base64urlToBigInt(jwk.n) }] : []
}

function requireNoSharedPrime(others: readonly RsaKey[], modulus: bigint): void {
  const index = sharesPrime(
    modulus,
    others.map((other) => other.modulus),
  )
  const sharer = index === undefined ? undefined : others[index]
  if (sharer !== undefined) throw rejectedKey('weak_key', sharedPrime(sharer.kid))
}

/** The fault of a key that shares a prime with a registered one. */
export function sharedPrime(kid: string): Fault {
  const detail = `This key shares a prime with the key ${kid}, so both can be broken. Generate new pairs for both on a machine with a sound random number generator, and deactivate ${kid}.`
  return { code: 'rsa_shared_prime', detail }
}

function rejectedKey(problem: 'weak_key' | 'compromised_key', { code, detail }: Fault) {
  return invalidField('/publicKeyPem', code, detail, problem)
}

function requireKeyCapacity(count: number, { maxKeys }: KeyLimits): void {
  if (count < maxKeys) return
  throw new PubringError(
    'key_limit_reached',
    `The project has ${count} keys, and at most ${maxKeys} are allowed. Delete keys that are no longer used; PUBRING_MAX_KEYS_PER_PROJECT raises the limit.`,
    { limit: maxKeys },
  )
}

/** Verifiers reject a key set of more than 50 KiB (Nimbus JOSE): one key too many breaks them all. */
export function requireJwksCapacity(bytes: number, { maxJwksBytes }: KeyLimits): void {
  if (bytes <= maxJwksBytes) return
  throw new PubringError(
    'jwks_too_large',
    `With this key the key set would have ${bytes} bytes; at most ${maxJwksBytes} are allowed, because many verifiers read no more. Deactivate keys that are no longer used, or use smaller keys. PUBRING_MAX_JWKS_BYTES raises the limit.`,
    { limit: maxJwksBytes },
  )
}
