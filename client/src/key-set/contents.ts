import type { Jwk } from '../types.ts'
import { importKey, type VerifyKey } from './import.ts'

/** A published key and, once it was asked for, what WebCrypto made of it. */
export type Entry = { alg: string; text: string; key(): Promise<VerifyKey> }

/** A key set as it was answered. */
export type Contents = { etag: string | undefined; entries: ReadonlyMap<string, Entry> }

/**
 * The entries of a key set by `kid`; undefined where it is none. Entries without a `kid` or an `alg`,
 * and keys for encryption, are left out: no token is verified with them. Keys that were there before
 * are kept as they were imported.
 */
export function readContents(
  body: unknown,
  etag: string | undefined,
  previous: Contents | undefined,
): Contents | undefined {
  if (typeof body !== 'object' || body === null || !('keys' in body)) return undefined
  if (!Array.isArray(body.keys)) return undefined
  const entries = new Map<string, Entry>()
  for (const jwk of body.keys) {
    if (!isUsable(jwk)) continue
    const text = JSON.stringify(jwk)
    const known = previous?.entries.get(jwk.kid)
    entries.set(jwk.kid, known?.text === text ? known : entryOf(jwk, text))
  }
  return { etag, entries }
}

function isUsable(jwk: unknown): jwk is Jwk {
  if (typeof jwk !== 'object' || jwk === null) return false
  const { kid, alg, kty, use = 'sig' } = jwk as Partial<Record<keyof Jwk, unknown>>
  return [kid, alg, kty].every((member) => typeof member === 'string') && use === 'sig'
}

function entryOf(jwk: Jwk, text: string): Entry {
  let imported: Promise<VerifyKey> | undefined
  return {
    alg: jwk.alg,
    text,
    key() {
      imported ??= importKey(jwk)
      return imported
    },
  }
}
