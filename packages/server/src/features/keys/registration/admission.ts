import type { ExposedKey, Fault } from '@pubring/intake'
import { base64urlToBigInt } from '@pubring/intake/encoding'
import { sharesPrime } from '@pubring/intake/shared-primes'
import { invalidField, PubringError } from '../../../errors.ts'
import type { CallerLink } from '../../../kernel/access/callers.ts'
import { parseStored } from '../../../kernel/storage/schema.ts'
import { isoTime } from '../../../kernel/values/times.ts'
import type { ImportResult, KeyLimits, KeyToImport } from '../changes.ts'
import { visibleKeys } from '../introduction.ts'
import { type JwksMember, jwksBytes, withJwkText } from '../jwks.ts'
import { type KidUse, kidOf, requireFreeKid } from '../kids.ts'
import { damagedJwk, fingerprintIn, type KeyRecord } from '../stored.ts'

/** A registered key, as far as new keys are compared with it. */
export type AdmissionKey = JwksMember &
  Pick<KeyRecord, 'thumbprint' | 'materialSha256' | 'createTime' | 'introducedBy' | 'endReason'>

interface AdmissionRules {
  limits: KeyLimits
  now: string
  /** Fingerprints of keys that must not be registered here. */
  blocked: ReadonlySet<string>
  /** The owners of the kids that the caller chose. */
  kidUse: KidUse
  /** Kids of RSA keys that share no prime with the new ones: these are not compared again. */
  compared: ReadonlySet<string>
  /** Whether the project must have none of the keys. */
  rejectsTwins: boolean
  /** The registration link of the caller, if it has one: faults then name no other key. */
  link: CallerLink | undefined
}

/** The outcome of each key: admitted ones and those that the project has, in order, and the others. */
export interface Admission extends Pick<ImportResult, 'items' | 'room'> {
  created: KeyRecord[]
  refused: { index: number; error: PubringError }[]
}

/**
 * Admits keys to the project of the existing ones, each as if those before it were registered. It runs
 * in the change's transaction, under the project's lock, so that of two concurrent creates of one key
 * one fails.
 */
export function admitKeys(
  existing: readonly AdmissionKey[],
  keys: readonly KeyToImport[],
  rules: AdmissionRules,
): Admission {
  const { size, admit, created } = startAdmission(existing, rules)
  const before = size()
  const items: Admission['items'] = []
  const refused: Admission['refused'] = []
  for (const key of keys) {
    try {
      items.push(admit(key))
    } catch (error) {
      if (!(error instanceof PubringError)) throw error
      refused.push({ index: key.index, error })
    }
  }
  const after = size()
  const { maxKeys, maxJwksBytes } = rules.limits
  const room = {
    keys: { before: before.keys, after: after.keys, limit: maxKeys },
    jwksBytes: { before: before.jwksBytes, after: after.jwksBytes, limit: maxJwksBytes },
  }
  return { items, created, refused, room }
}

/** The state of the project as keys are admitted, one after the other. */
function startAdmission(existing: readonly AdmissionKey[], rules: AdmissionRules) {
  const { limits, now, blocked, kidUse, compared, rejectsTwins, link } = rules
  const nameOf = (kid: string) => (link ? 'another key of the project' : `the key ${kid}`)
  const byThumbprint = new Map(existing.map((key) => [key.thumbprint, key]))
  const byMaterial = new Map(existing.map((key) => [key.materialSha256, key]))
  const firstIndexes = new Map<string, number>()
  const admittedKids = new Map<string, Set<string>>()
  const uses = [kidUse, { ids: admittedKids, published: admittedKids }]
  let uncompared: RsaKey[] | undefined
  let bytes = jwksBytes(existing, now)
  const created: KeyRecord[] = []
  // A signer that rotates by itself deletes no key. The day bounds how fast their number grows.
  const dayAgo = isoTime(Date.parse(now) - 24 * 3_600_000)
  const counted = existing.filter(({ expireTime = now }) => expireTime >= dayAgo)
  const count = () => counted.length + created.length
  return {
    created,
    size: () => ({ keys: count(), jwksBytes: bytes }),
    admit({ index, key, kidProvided }: KeyToImport): Admission['items'][number] {
      const fault = blockFault(key, key.projectId, blocked)
      if (fault !== undefined) throw rejectedKey('compromised_key', fault)
      requireFirst(firstIndexes, index, key)
      const twin = byThumbprint.get(key.thumbprint)
      if (twin !== undefined) {
        if (rejectsTwins) throw duplicateKey(twin, link !== undefined)
        requireSameAsTwin(twin, key, kidProvided)
        return { outcome: 'present', kid: twin.id }
      }
      requireFreeKids(key, kidProvided, uses)
      if (key.jwk.kty === 'RSA') {
        requireNewModulus(byMaterial.get(key.materialSha256), nameOf)
        uncompared ??= existing.filter(({ id }) => !compared.has(id)).flatMap(rsaKey)
        requireNoSharedPrime(uncompared, base64urlToBigInt(key.jwk.n), nameOf)
      }
      requireKeyCapacity(count(), limits)
      if (link !== undefined) requireLinkCapacity([...counted, ...created], link)
      const added = withJwkText(key)
      const bytesAfter = jwksBytes([added], now, bytes)
      requireJwksCapacity(bytesAfter, limits)
      byThumbprint.set(key.thumbprint, added)
      byMaterial.set(key.materialSha256, added)
      for (const kid of [key.id, kidOf(key)]) admittedKids.set(kid, new Set([key.thumbprint]))
      bytes = bytesAfter
      created.push(key)
      return { outcome: 'created', kid: key.id }
    },
  }
}

const submittedBefore: Fault = {
  code: 'key_known_compromised',
  detail:
    'The private half of this key was submitted here earlier. Treat the key as compromised: generate a new pair.',
}

const endedBefore: Fault = {
  code: 'key_known_compromised',
  detail: 'The project had this key, and it ended as compromised. Generate a new pair.',
}

/** Why the blocked fingerprints forbid the key: everywhere, or in the project; undefined if they do not. */
export function blockFault(
  { thumbprint, materialSha256 }: ExposedKey,
  projectId: string | undefined,
  blocked: ReadonlySet<string>,
): Fault | undefined {
  if (blocked.has(thumbprint) || blocked.has(materialSha256)) return submittedBefore
  return blocked.has(fingerprintIn(projectId ?? '', thumbprint)) ? endedBefore : undefined
}

function duplicateKey({ id }: AdmissionKey, hidesKids: boolean): PubringError {
  if (hidesKids) {
    const detail = 'The project already has this key. Register a key of a new pair.'
    return new PubringError('duplicate_key', detail)
  }
  const detail = `The project already has this key, as ${id}. Use that kid, or register another key.`
  return new PubringError('duplicate_key', detail, { kid: id })
}

/** Rejects the second of two items with one key, even if the first was rejected. */
function requireFirst(firstIndexes: Map<string, number>, index: number, key: KeyRecord): void {
  const first = firstIndexes.get(key.thumbprint)
  if (first !== undefined) {
    throw invalidField(
      '/publicKeyPem',
      'duplicate_key',
      `The import has this key twice: here and at /keys/${first}. Remove one of them.`,
    )
  }
  firstIndexes.set(key.thumbprint, index)
}

/**
 * An item for a registered key must agree with it in kid and algorithm. It cannot mark the key as
 * compromised, which would change it.
 */
function requireSameAsTwin(twin: AdmissionKey, key: KeyRecord, kidProvided: boolean): void {
  const differs = (field: string, difference: string) =>
    invalidField(
      `/${field}`,
      'duplicate_key',
      `The project already has this key, as ${twin.id}${difference}`,
    )
  if (kidProvided && twin.id !== key.id) throw differs('kid', '. Omit kid, or send that one.')
  if (key.publishedKid !== undefined && kidOf(twin) !== key.publishedKid) {
    const published = `, published as ${kidOf(twin)}. Omit publishedKid, or send that one.`
    throw differs('publishedKid', published)
  }
  if (twin.jwsAlgorithm !== key.jwsAlgorithm) {
    const detail = `, for ${twin.jwsAlgorithm}. Send that algorithm, or remove the key.`
    throw differs('algorithm', detail)
  }
  if (key.endReason === 'compromised' && twin.endReason !== 'compromised') {
    const detail =
      ', and there it is not compromised. Change that key to "active": false with this reason, or remove it from the import.'
    throw differs('reason', detail)
  }
}

/** Kids that the caller chose must never have named other key material, nor do so in this import. */
function requireFreeKids(
  { id, publishedKid, thumbprint }: KeyRecord,
  kidProvided: boolean,
  uses: readonly KidUse[],
): void {
  for (const { ids } of kidProvided ? uses : []) requireFreeKid('kid', id, thumbprint, ids)
  if (publishedKid === undefined) return
  for (const { published } of uses) {
    requireFreeKid('publishedKid', publishedKid, thumbprint, published)
  }
}

/** How faults name a registered key. */
type NameOf = (kid: string) => string

/** Keys with one modulus have one private key, so a second one is no replacement for the first. */
function requireNewModulus(twin: AdmissionKey | undefined, nameOf: NameOf): void {
  if (twin === undefined) return
  const detail = `This key has the same modulus as ${nameOf(twin.id)}: the private key of one is that of the other. Generate a new pair.`
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

function requireNoSharedPrime(others: readonly RsaKey[], modulus: bigint, nameOf: NameOf): void {
  const index = sharesPrime(
    modulus,
    others.map((other) => other.modulus),
  )
  const sharer = index === undefined ? undefined : others[index]
  if (sharer !== undefined) throw rejectedKey('weak_key', sharedPrime(nameOf(sharer.kid)))
}

/** The fault of a key that shares a prime with a registered one, such as `the key KID`. */
export function sharedPrime(other: string): Fault {
  const detail = `This key shares a prime with ${other}, so both can be broken. Generate new pairs for both on a machine with a sound random number generator, and deactivate ${other}.`
  return { code: 'rsa_shared_prime', detail }
}

function rejectedKey(problem: 'weak_key' | 'compromised_key', { code, detail }: Fault) {
  return invalidField('/publicKeyPem', code, detail, problem)
}

function requireKeyCapacity(count: number, { maxKeys }: KeyLimits): void {
  if (count < maxKeys) return
  throw new PubringError(
    'key_limit_reached',
    `The project has ${count} keys that have not been expired for a day, and at most ${maxKeys} are allowed. Delete keys that are no longer used; PUBRING_MAX_KEYS_PER_PROJECT raises the limit.`,
    { limit: maxKeys },
  )
}

/** Keys of one registration link that nobody has activated. */
const maxKeysOfLink = 5

type LinkedKey = Pick<KeyRecord, 'introducedBy' | 'enabled'>

/** Throws `key_limit_reached` for a link that would use up the room of others. */
function requireLinkCapacity(keys: readonly LinkedKey[], link: CallerLink): void {
  const own = visibleKeys(keys, link)
  const unapproved = own.filter(({ enabled }) => !enabled || link.newKeys === 'active')
  if (unapproved.length < maxKeysOfLink) return
  throw new PubringError(
    'key_limit_reached',
    `A registration link brings at most ${maxKeysOfLink} keys that nobody else has activated. Ask the people who sent it to activate them or delete some, or for another link.`,
    { limit: maxKeysOfLink },
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
