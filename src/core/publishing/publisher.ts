import { LRUCache } from 'lru-cache'
import type { Context } from '../context.ts'
import { discoveryText, isActive, issuerOf, jwksText } from '../keys/jwks.ts'
import { entityTag } from '../keys/preconditions.ts'
import { type KeySet, keySetBytes } from '../records.ts'
import { isStorageUnavailable, withStorageTimeout } from '../storage-faults.ts'
import { isoTime } from '../times.ts'
import { publishedNowhere } from './names.ts'

/** Milliseconds for which a look at the revision holds: half of the second that is promised. */
export const recheckInterval = 500

/** Milliseconds that a caller waits for a look where there is something good to serve instead. */
const lookupTimeoutMs = 400

/** Bound of what a process keeps, in bytes; what falls out is read again when it is asked for. */
const maxCachedBytes = 32 * 1024 * 1024

/** A public document as it is sent: the same octets and tag on every process. */
export interface PublishedDocument {
  body: string
  /** Strong, a digest of the octets. */
  etag: string
  /** Seconds for which a cache may keep it: never past the next expiry of a key. */
  maxAge: number
}

/** What tells one state of a project's documents from another. */
export interface PublishedState {
  projectId: string
  /** Hash of the last event of the project's ledger. */
  head: string
  /** Epoch milliseconds of the next expiry of a key, when the documents become others. */
  validUntil: number
  /** Monotonic milliseconds at which the look at the store began that found it so. */
  seen: number
  /** Epoch milliseconds until which `maxAge` is what it is. */
  maxAgeStableUntil: number
}

export interface PublishedProject extends PublishedState {
  revision: number
  jwks: PublishedDocument
  discovery: PublishedDocument
}

/** The documents of a key set, and how long they hold. */
interface Documents {
  revision: number
  head: string
  jwks: Omit<PublishedDocument, 'maxAge'>
  discovery: Omit<PublishedDocument, 'maxAge'>
  validUntil: number
  /** What the next ones are made of; absent where these hold until a change. */
  keySet?: KeySet
}

/** What is kept of a project between requests. */
interface Entry extends Documents {
  /** Monotonic milliseconds at which the last good look at the store began. */
  seen: number
  /** Monotonic milliseconds from which on it is not served without another look. */
  recheckAt: number
}

/** A look at the store that is under way; one at a time per project. */
interface Look {
  /** A change came in between: what it finds may be old, and is not kept. */
  superseded: boolean
  done: Promise<Entry>
  /** The same, with an end to patience. */
  withTimeout?: Promise<Entry>
}

export interface Publisher {
  /**
   * The project's documents: with every change of this process, and at most 500 ms and a look-up
   * behind those of others. While the store is away, the last good ones for `jwksStaleLimit`; then
   * `storage_unavailable`. Never an empty set for a project that has keys.
   */
  published(projectId: string): Promise<PublishedProject>
  /** Whether `published` would answer the same, and at once. */
  isCurrent(state: PublishedState): boolean
  /** The project was changed: no look that began before now serves it any more. */
  changed(projectId: string): void
}

export function createPublisher(context: Context): Publisher {
  const { clock, config } = context
  const store = context.store.published
  const entries = new LRUCache<string, Entry>({ maxSize: maxCachedBytes, sizeCalculation })
  const looks = new Map<string, Look>()

  function begin(projectId: string): Look {
    const look: Look = {
      superseded: false,
      done: Promise.resolve().then(() => read(projectId, look)),
    }
    const ended = () => {
      if (looks.get(projectId) === look) looks.delete(projectId)
    }
    look.done.then(ended, ended)
    looks.set(projectId, look)
    return look
  }
  async function read(projectId: string, look: Look): Promise<Entry> {
    const seen = clock.monotonic()
    const known = entries.peek(projectId)
    // The hash tells histories apart: a fail-over that loses changes gives their revisions to others.
    const head = known && (await store.heads([projectId])).get(projectId)?.hash
    const isSame = known !== undefined && known.head === head
    const documents = isSame ? refreshed(projectId, known) : await readDocuments(projectId)
    if (documents === undefined) {
      if (!look.superseded) entries.delete(projectId)
      throw publishedNowhere()
    }
    const entry = { ...documents, seen, recheckAt: seen + recheckInterval }
    if (!look.superseded) entries.set(projectId, entry)
    return entry
  }
  async function readDocuments(projectId: string): Promise<Documents | undefined> {
    const keySet = await store.keySet(projectId)
    return keySet && documentsOf(context, projectId, keySet)
  }
  /** The documents of the same key set as they are by now. */
  function refreshed(projectId: string, known: Documents): Documents {
    const { keySet, validUntil } = known
    if (keySet === undefined || clock.now() < validUntil) return known
    return documentsOf(context, projectId, keySet)
  }
  function isFresh({ recheckAt, validUntil }: Entry): boolean {
    return clock.monotonic() < recheckAt && clock.now() < validUntil
  }
  async function current(projectId: string): Promise<Entry> {
    const known = entries.get(projectId)
    if (known !== undefined && isFresh(known)) return known
    const look = looks.get(projectId) ?? begin(projectId)
    if (known === undefined) return look.done
    try {
      look.withTimeout ??= withStorageTimeout(look.done, lookupTimeoutMs)
      return await look.withTimeout
    } catch (error) {
      if (!isStorageUnavailable(error)) throw error
      return lastGood(projectId, look, error)
    }
  }
  /** Serves what is known until the limit, and lets the store rest until the next look. */
  function lastGood(projectId: string, look: Look, error: unknown): Entry {
    const known = entries.peek(projectId)
    const limit = (known?.seen ?? 0) + config.jwksStaleLimit * 1000
    const time = clock.monotonic()
    if (known === undefined || time >= limit) throw error
    const recheckAt = Math.min(time + recheckInterval, limit)
    const { seen } = known
    const entry = { ...refreshed(projectId, known), seen, recheckAt }
    if (!look.superseded) entries.set(projectId, entry)
    return entry
  }
  function present(projectId: string, entry: Entry): PublishedProject {
    const untilExpiry = Math.floor((entry.validUntil - clock.now()) / 1000)
    const maxAge = Math.max(0, Math.min(config.jwksMaxAge, untilExpiry))
    return {
      projectId,
      revision: entry.revision,
      head: entry.head,
      validUntil: entry.validUntil,
      seen: entry.seen,
      maxAgeStableUntil: entry.validUntil - maxAge * 1000,
      jwks: { ...entry.jwks, maxAge },
      discovery: { ...entry.discovery, maxAge },
    }
  }

  return {
    published: async (projectId) => present(projectId, await current(projectId)),
    isCurrent({ projectId, head, validUntil, seen, maxAgeStableUntil }) {
      const known = entries.get(projectId)
      if (known === undefined || known.head !== head) return false
      if (known.validUntil !== validUntil || known.seen !== seen) return false
      return isFresh(known) && clock.now() <= maxAgeStableUntil
    },
    changed(projectId) {
      const running = looks.get(projectId)
      if (running !== undefined) running.superseded = true
      looks.delete(projectId)
      const known = entries.peek(projectId)
      if (known !== undefined) known.recheckAt = Number.NEGATIVE_INFINITY
    },
  }
}

/** The documents of the key set as it is now. */
function documentsOf(context: Context, projectId: string, keySet: KeySet): Documents {
  const time = isoTime(context.clock.now())
  const { revision, head, keys } = keySet
  const expiries = keys
    .filter((key) => isActive(key, time) && key.expireTime !== undefined)
    .map((key) => Date.parse(key.expireTime ?? ''))
  const issuer = issuerOf(context.config.publicUrl, projectId)
  return {
    revision,
    head,
    ...(expiries.length === 0 ? {} : { keySet }),
    jwks: document(jwksText(keys, time)),
    discovery: document(discoveryText(issuer, keys, time)),
    validUntil: Math.min(Number.POSITIVE_INFINITY, ...expiries),
  }
}

function document(text: string): Omit<PublishedDocument, 'maxAge'> {
  return { body: text, etag: entityTag(text) }
}

/** Octets, roughly. */
function sizeCalculation({ jwks, discovery, keySet }: Entry): number {
  const texts = jwks.body.length + discovery.body.length
  return 1_500 + texts + (keySet === undefined ? 0 : keySetBytes(keySet))
}
