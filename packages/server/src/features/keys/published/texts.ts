import { hash } from 'node:crypto'
import { canonicalJson } from '@pubring/client/internal/log/chain'
import { isInCommonJwks, type JwsAlgorithm } from '@pubring/intake/algorithms'
import type { PublishedDigests } from '../../../kernel/ledger/chain.ts'
import { parseStored } from '../../../kernel/storage/schema.ts'
import { isActive, isExpired } from '../../../kernel/values/times.ts'
import { jwksEntry } from '../jwks.ts'
import { kidOf, placeholder, placeholderJwks } from '../kids.ts'
import type { KeyRecord } from '../stored.ts'

/** A key in the list of what a project publishes. */
export interface PublishedKey {
  kid: string
  /** RFC 7638, SHA-256, base64url. */
  thumbprint: string
  alg: JwsAlgorithm
  expireTime?: string
}

/** What a project publishes, byte for byte the same on every replica. */
export interface PublishedTexts {
  /**
   * Canonical JSON of the published keys, in the order of the key list. The placeholder stands in front
   * if `jwks` has it.
   */
  list: string
  /** `jwks.json`: the RSA, EC and OKP keys, or the placeholder. */
  jwks: string
  /** `jwks-full.json`: all keys. */
  jwksFull: string
}

/** A published key with its entry in the JWKS. */
interface Entry {
  key: PublishedKey
  jwk: Record<string, string>
}

const { kid, alg, ...placeholderJwk } = placeholder
const { use: _use, ...thumbprintMembers } = placeholderJwk
const placeholderKey = {
  kid,
  alg,
  thumbprint: hash('sha256', canonicalJson(thumbprintMembers), 'base64url'),
}

/** The active ones of a project's keys, which are in the order of the list. */
export function publish(keys: readonly KeyRecord[], now: string, hadKeys: boolean): PublishedTexts {
  return textsOf(keys.filter((key) => isActive(key, now)).map(toEntry), hadKeys)
}

/** The texts after these keys were added, which stand behind all others in the list. */
export function publishToo(
  before: PublishedTexts,
  keys: readonly KeyRecord[],
  now: string,
): PublishedTexts {
  const joining = keys.filter((key) => isActive(key, now)).map(toEntry)
  // Without the placeholder, ML-DSA keys and expiries, the texts need not be parsed.
  if (
    before.jwks === before.jwksFull &&
    !hasExpiry(before) &&
    joining.every(({ key }) => isCommon(key))
  ) {
    const jwks = append(before.jwks, jwksText(joining), emptyJwks.length)
    const list = append(before.list, canonicalJson(joining.map(({ key }) => key)), '[]'.length)
    return { list, jwks, jwksFull: jwks }
  }
  return textsOf([...entriesAt(before, now), ...joining], hadKeysIn(before))
}

/** The texts at a later time, without the keys that have expired; the same object if none has. */
export function publishedAt(texts: PublishedTexts, now: string): PublishedTexts {
  if (!expiringKeys(texts).some((key) => isExpired(key, now))) return texts
  return textsOf(entriesAt(texts, now), hadKeysIn(texts))
}

/** All published keys, without the placeholder. */
function publishedKeys({ list }: Pick<PublishedTexts, 'list'>): PublishedKey[] {
  return parseStored<PublishedKey[]>(list, []).filter((key) => key.kid !== placeholder.kid)
}

/** The published keys if some of them have an `expireTime`; without any, the list need not be parsed. */
export function expiringKeys(texts: Pick<PublishedTexts, 'list'>): PublishedKey[] {
  return hasExpiry(texts) ? publishedKeys(texts) : []
}

function hasExpiry({ list }: Pick<PublishedTexts, 'list'>): boolean {
  return list.includes('"expireTime":')
}

/** Whether a key of the project was ever in `jwks.json`, which then is never empty. */
export function hadKeysIn({ list }: Pick<PublishedTexts, 'list'>): boolean {
  return parseStored<PublishedKey[]>(list, []).some(isCommon)
}

/** The digests of the texts, which events have. */
export function digestsOf({ list, jwks, jwksFull }: PublishedTexts): PublishedDigests {
  const ofJwks = digest(jwks)
  return {
    list: digest(list),
    jwks: ofJwks,
    jwksFull: jwksFull === jwks ? ofJwks : digest(jwksFull),
  }
}

export const nothingPublished = publish([], '', false)

const digest = (text: string) => hash('sha256', text, 'base64url')

function isCommon({ alg }: PublishedKey): boolean {
  return isInCommonJwks({ algorithm: alg })
}

function toEntry(key: KeyRecord): Entry {
  const { thumbprint, expireTime, jwsAlgorithm } = key
  const expiry = expireTime === undefined ? {} : { expireTime }
  return {
    key: { kid: kidOf(key), thumbprint, alg: jwsAlgorithm, ...expiry },
    jwk: jwksEntry(key),
  }
}

function entriesAt(texts: PublishedTexts, now: string): Entry[] {
  const { keys }: { keys?: Entry['jwk'][] } = parseStored(texts.jwksFull, {})
  return publishedKeys(texts)
    .map((key, index) => ({ key, jwk: keys?.[index] ?? {} }))
    .filter(({ key }) => !isExpired(key, now))
}

function textsOf(entries: readonly Entry[], hadKeys: boolean): PublishedTexts {
  const common = entries.filter(({ key }) => isCommon(key))
  const isReplaced = hadKeys && common.length === 0
  const list = entries.map(({ key }) => key)
  const jwksFull = jwksText(entries)
  return {
    list: canonicalJson(isReplaced ? [placeholderKey, ...list] : list),
    jwks: isReplaced
      ? placeholderJwks
      : common.length === entries.length
        ? jwksFull
        : jwksText(common),
    jwksFull,
  }
}

const emptyJwks = '{"keys":[]}'

/** Appends the elements of an array to those of another in the same text, which is this long without any. */
function append(text: string, more: string, emptyLength: number): string {
  if (text.length === emptyLength) return more
  if (more.length === emptyLength) return text
  const end = text.length - text.lastIndexOf(']')
  const start = more.indexOf('[') + 1
  return `${text.slice(0, -end)},${more.slice(start)}`
}

function jwksText(entries: readonly Entry[]): string {
  return JSON.stringify({ keys: entries.map(({ jwk }) => jwk) })
}
