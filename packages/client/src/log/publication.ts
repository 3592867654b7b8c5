import { type ChainLink, chainText } from './chain.ts'
import { base64urlDigest, hexDigest } from './encoding.ts'
import { LogError } from './errors.ts'

/** What the hash of an event of a project covers, and the list of the keys that the project publishes. */
export type Publication = ChainLink & {
  published?: Record<string, unknown>
  /** JSON of `ListedKey`s, whose digest is in `published`; absent if the server does not have it any more. */
  list?: string
}

/** A key that a project publishes until its `expireTime` (ISO 8601), if it has one. */
export type ListedKey = { kid: string; thumbprint: string; alg: string; expireTime?: string }

/** Undefined unless it has the members; nothing is verified. */
export function parsePublication(extra: Record<string, unknown>): Publication | undefined {
  const { previous, contentDigest, published, list } = extra
  if (typeof previous !== 'string' || typeof contentDigest !== 'string') return undefined
  const isObject = typeof published === 'object' && published !== null
  return {
    previous,
    contentDigest,
    ...(isObject && { published: { ...published } }),
    ...(typeof list === 'string' && { list }),
  }
}

/**
 * The keys that the project published from the proven event on. Throws `disproved` if the hash of the
 * event, which the caller has verified, does not cover them, and `malformed` without a list of keys.
 */
export async function verifyPublication(
  { head, revision }: { head: string; revision: number },
  publication: Publication | undefined,
): Promise<ListedKey[]> {
  const { previous = '', contentDigest = '', published, list } = publication ?? {}
  const areHashes = [previous, contentDigest].every((hash) => /^[0-9a-f]{64}$/.test(hash))
  const link = { previous, contentDigest, published }
  if (!areHashes || (await hexDigest(chainText(link))) !== head) {
    throw new LogError(
      'disproved',
      `The proof does not show what the project publishes: its digests are not those of event ${revision}.`,
    )
  }
  if (list !== undefined && (await base64urlDigest(list)) !== published?.list) {
    throw new LogError(
      'disproved',
      `The proof does not show what the project publishes: its list is not that of event ${revision}.`,
    )
  }
  const keys = parseList(list)
  if (keys !== undefined) return keys
  throw new LogError('malformed', `The proof of event ${revision} has no list of keys.`)
}

function parseList(list = ''): ListedKey[] | undefined {
  try {
    const keys: unknown = JSON.parse(list)
    return Array.isArray(keys) && keys.every(isListedKey) ? keys : undefined
  } catch {
    return undefined
  }
}

function isListedKey(key: unknown): key is ListedKey {
  const members: Record<string, unknown> = { ...Object(key) }
  const { kid, thumbprint, alg, expireTime = '' } = members
  return [kid, thumbprint, alg, expireTime].every((member) => typeof member === 'string')
}
