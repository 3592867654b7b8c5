import { createHash, createPublicKey } from 'node:crypto'
import type { Head } from '@pubring/client/internal/key-set/head'
import { isAlgorithm } from '@pubring/intake/algorithms'
import { placeholderJwks } from '@pubring/server/features/keys/kids'
import { placeholderKid } from '@pubring/server/kernel/contract'
import { isObject } from '@pubring/server/runtime/json'

/** A public key of a key set. Its values come from the server and may contain any text. */
export interface PublishedKey {
  kid: string
  alg: string
  /** As published, without unknown members. */
  jwk: Record<string, string>
}

/** The published documents of a project. */
export interface PublishedKeys {
  /** Id or name, as on the command line. */
  project: string
  projectId: string
  /** The entity tag of the full key set. */
  etag: string | undefined
  /** The last event of the project that they account for; undefined if a proxy removed it. */
  head: Head | undefined
  /** The keys of `jwks.json`, which every verifier can read. */
  jwks: PublishedKey[]
  /** The keys of `jwks-full.json`. */
  fullJwks: PublishedKey[]
  discovery: Record<string, unknown>
}

const publicMembers = ['kty', 'use', 'kid', 'alg', 'crv', 'n', 'e', 'x', 'y', 'pub']
const asymmetricTypes = ['RSA', 'EC', 'OKP', 'AKP']

/** A kid without control characters, which could end a line of a configuration file. */
const kidPattern = /^[\x20-\x7e]{1,255}$/

export function parseKeys(value: unknown): PublishedKey[] | undefined {
  if (!isObject(value) || !Array.isArray(value.keys)) return undefined
  return value.keys.flatMap(parseKey)
}

/** Reads a public key as Pubring publishes it, with the known members alone; nothing of anything else. */
function parseKey(value: unknown): PublishedKey[] {
  if (!isObject(value)) return []
  const jwk = Object.fromEntries(
    publicMembers.flatMap((name) => {
      const member = value[name]
      return typeof member === 'string' ? [[name, member] as const] : []
    }),
  )
  const { kid = '', kty = '', alg = '' } = jwk
  const isKnown = asymmetricTypes.includes(kty) && isAlgorithm(alg)
  return isKnown && kidPattern.test(kid) ? [{ kid, alg, jwk }] : []
}

/** The keys that verify tokens: without the placeholder of a project that has no active key. */
export function verifyingKeys(keys: readonly PublishedKey[]): PublishedKey[] {
  return keys.filter(({ kid }) => kid !== placeholderKid)
}

const placeholders = parseKeys(JSON.parse(placeholderJwks)) ?? []

/** The documents of a project without an active key. */
export function emptied(keys: PublishedKeys): PublishedKeys {
  return { ...keys, jwks: placeholders, fullJwks: [] }
}

/**
 * The documents with those of the keys that count. If one does not yet, they have no entity tag, so that the
 * next response has all keys again.
 */
export function keepKeys(
  keys: PublishedKeys,
  counts: (key: PublishedKey) => boolean,
): PublishedKeys {
  const fullJwks = keys.fullJwks.filter(counts)
  const common = verifyingKeys(keys.jwks).filter(counts)
  const jwks = common.length === 0 && keys.jwks.length > 0 ? placeholders : common
  const isSame = fullJwks.length === keys.fullJwks.length && jwks.length === keys.jwks.length
  return { ...keys, fullJwks, jwks, etag: isSame ? keys.etag : undefined }
}

/** SPKI in DER; undefined if the key is malformed or this Node does not know its type. */
export function spkiOf({ jwk }: PublishedKey): Buffer | undefined {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'der' })
  } catch {
    return undefined
  }
}

/** Longest encoded name, in characters, which leaves room for a suffix in 255 bytes. */
const maxNameLength = 200

/**
 * A file name for the text, which nothing in it can turn into another path: all but letters, digits,
 * `_` and `-` is percent-encoded, a dot only at the start. A long one is replaced by its digest.
 */
export function fileNameOf(text: string): string {
  const encoded = encodeURIComponent(text.toWellFormed())
    .replace(/[!'()*~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/^\./, '%2E')
  if (encoded !== '' && encoded.length <= maxNameLength) return encoded
  return `sha256-${createHash('sha256').update(text).digest('hex')}`
}
