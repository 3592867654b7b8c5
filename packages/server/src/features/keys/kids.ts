import { invalidField } from '../../errors.ts'
import { placeholderKid } from '../../kernel/contract.ts'
import { parseId } from '../../kernel/values/ids.ts'
import { requireNoSecrets } from '../../kernel/values/labels.ts'
import type { KeyRecord } from './stored.ts'

/** The types of tokens with which a key vouches for its successor, and ends itself. */
export const rotationType = 'pubring-rotation+jwt'
export const endType = 'pubring-end+jwt'

type KidNames = Pick<KeyRecord, 'id' | 'publishedKid'>

/** The kid of the key in the JWKS and in the header of tokens. */
export function kidOf({ id, publishedKid = id }: KidNames): string {
  return publishedKid
}

/** The key with this id or `publishedKid`; no two keys of a project share one. */
export function findByKid<Key extends KidNames>(
  keys: readonly Key[],
  kid: string,
): Key | undefined {
  const id = parseId(kid)
  return keys.find((key) => key.id === id || key.publishedKid === kid)
}

const maxPublishedLength = 255

/** Why a text cannot be a published kid, as the end of a sentence; undefined if it can. */
export function publishedKidFault(text: string): string | undefined {
  if (text === '') return 'is empty'
  if (text.length > maxPublishedLength) {
    return `has ${text.length} characters, more than the ${maxPublishedLength} that are allowed`
  }
  if (/[^A-Za-z0-9._~:/+=@#-]/.test(text)) {
    return 'has a character other than A-Z a-z 0-9 - . _ ~ : / + = @ #'
  }
  return text === placeholderKid ? `is ${text}, which stands for an empty key set` : undefined
}

/** Throws `invalid_request`. */
export function parsePublishedKid(text: string): string {
  const fault = publishedKidFault(text)
  if (fault !== undefined) {
    const detail = `publishedKid ${fault}. Choose another one.`
    throw invalidField('/publishedKid', 'kid_invalid', detail)
  }
  requireNoSecrets(text, '/publishedKid')
  return text
}

/** By kid: the thumbprints of all keys that ever had it. */
type KidOwners = ReadonlyMap<string, ReadonlySet<string>>

/** Who has or had kids: ids, which are unique in all projects, and published ones, in one project. */
export interface KidUse {
  ids: KidOwners
  published: KidOwners
}

/** Throws `kid_taken` unless the kid never named other key material. */
export function requireFreeKid(
  field: 'kid' | 'publishedKid',
  kid: string,
  thumbprint: string,
  owners: KidOwners,
): void {
  const others = new Set(owners.get(kid)).difference(new Set([thumbprint]))
  if (others.size === 0) return
  throw invalidField(
    `/${field}`,
    'kid_taken',
    `This ${field} names other key material, or once did. Choose another one, or omit ${field}.`,
  )
}

/**
 * The only entry of `jwks.json` when a project that had keys in it has none left. Some verifiers take
 * an empty set for a failed fetch and keep the old keys, as Envoy does.
 *
 * No one has its private key, because its point was not made from one: x is SHA-256 of the sentence
 * `pubring: no active key 0`, and y is the even one of the two roots that put the point on P-256.
 */
export const placeholder = {
  kty: 'EC',
  use: 'sig',
  kid: placeholderKid,
  crv: 'P-256',
  x: 'FdYUkgtwkuIF_qX71nAPdBglkKqd-gv7bNowDKSAtWs',
  y: 'SXd34K-joL5b0PTu_kAJ7i-MDNfz2zoHELAegzFWmNo',
  alg: 'ES256',
} as const

export const placeholderJwks = JSON.stringify({ keys: [placeholder] })
