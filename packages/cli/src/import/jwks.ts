import type { Jwk } from '@pubring/intake/jwk'
import { placeholderKid } from '@pubring/server/kernel/contract'
import { isNestedWithin, isObject } from '@pubring/server/runtime/json'
import { type PublicKeyFile, readJwk } from '../keys/jwk.ts'
import {
  type EntryContent,
  orRejection,
  publishedKidOf,
  type Rejection,
  readEntry,
  type SourceEntry,
  stem,
} from './entry.ts'

/** Levels of objects and lists in a JWK; `JSON.stringify` throws for thousands. */
const maxLevels = 8

/**
 * The keys of a JWKS (RFC 7517). An entry for encryption, a symmetric key, an unknown type and a
 * second entry with the same `kid` are rejected. The `kid` is the label and the published kid.
 * Leaves out Pubring's placeholder. The validity that an entry states decides whether its key is active.
 */
export function readJwks(keys: readonly unknown[], name: string): SourceEntry[] {
  const kids = new Set<string>()
  return keys
    .filter((value) => Object(value).kid !== placeholderKid)
    .map((value, index) => {
      const place = `${name}, entry ${index + 1}`
      const fallback = `${stem(name)} ${index + 1}`
      const entry = isNestedWithin(value, maxLevels) ? value : {}
      const jwk: Jwk = isObject(entry) ? entry : {}
      const label = typeof jwk.kid === 'string' && jwk.kid.trim() !== '' ? jwk.kid : fallback
      const isTwin = kids.has(label)
      const text = jwk.kty === 'oct' ? '' : JSON.stringify(entry)
      return readEntry({ place, label, text, safeLabel: fallback }, () => {
        kids.add(label)
        const content = contentOf(() => readJwk(jwk))
        return isTwin && 'key' in content ? { rejection: duplicateKid } : content
      })
    })
}

const duplicateKid: Rejection = {
  code: 'duplicate_kid',
  detail: 'Another entry of the set has the same kid: verifiers cannot tell them apart.',
}

/** The key that `read` returns, with its kid as the published one. */
export function contentOf(read: () => PublicKeyFile): EntryContent {
  return orRejection(() => {
    const { kid, note, ...key } = read()
    const published = publishedKidOf(kid)
    const notes = [note, published.note].filter((each) => each !== undefined)
    return {
      key: { ...key, ...published.fields },
      ...(notes.length === 0 ? {} : { note: notes.join(' ') }),
    }
  })
}
