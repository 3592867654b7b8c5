import type { Jwk } from '../types.ts'
import type { Head } from './head.ts'
import { importKey, type VerifyKey } from './import.ts'

/** A published key; `key()` imports it on first use. */
export type KeyEntry = {
  kid: string
  alg: string
  jwk: Jwk
  text: string
  key(): Promise<VerifyKey>
}

/** The keys of a key set by `kid`. */
export type KeySetContents = KeySetVersion & { entries: ReadonlyMap<string, KeyEntry> }

type KeySetVersion = { etag: string | undefined; head: Head | undefined }

/** Pubring's stand-in for an empty set: no one has its private key. */
export const placeholderKid = 'no-active-key'

/**
 * Parses a JWKS; undefined if it is not one. Skips keys without `kid` or `alg`, encryption keys and
 * the placeholder, which verify no token. Unchanged keys keep their imported form from `previous`.
 */
export function parseKeySet(
  body: unknown,
  { etag, head }: KeySetVersion,
  previous: KeySetContents | undefined,
): KeySetContents | undefined {
  if (typeof body !== 'object' || body === null || !('keys' in body)) return undefined
  if (!Array.isArray(body.keys)) return undefined
  const entries = new Map<string, KeyEntry>()
  for (const jwk of body.keys) {
    if (!isVerificationKey(jwk)) continue
    const text = JSON.stringify(jwk)
    const known = previous?.entries.get(jwk.kid)
    entries.set(jwk.kid, known?.text === text ? known : createEntry(jwk, text))
  }
  return { etag, head, entries }
}

export function isSameKeySet(one: KeySetContents, other: KeySetContents): boolean {
  const textOf = ({ entries }: KeySetContents) =>
    [...entries.values()].map(({ text }) => text).join('\n')
  return one.etag === other.etag && textOf(one) === textOf(other)
}

function isVerificationKey(jwk: unknown): jwk is Jwk {
  if (typeof jwk !== 'object' || jwk === null) return false
  const { kid, alg, kty, use = 'sig' } = jwk as Partial<Record<keyof Jwk, unknown>>
  if (kid === placeholderKid) return false
  return [kid, alg, kty].every((member) => typeof member === 'string') && use === 'sig'
}

function createEntry(jwk: Jwk, text: string): KeyEntry {
  let imported: VerifyKey | undefined
  return {
    kid: jwk.kid,
    alg: jwk.alg,
    jwk,
    text,
    async key() {
      imported ??= await importKey(jwk)
      return imported
    },
  }
}
