import { createPublicKey, type webcrypto } from 'node:crypto'
import type { JwsAlgorithm } from '@pubring/intake/algorithms'
import { LRUCache } from 'lru-cache'
import { createBatchLoader } from '../../async/single-flight.ts'
import { PubringError } from '../../errors.ts'
import type { CoreConfig } from '../../kernel/context.ts'
import { placeholderKid } from '../../kernel/contract.ts'
import { entityTag, tagOfDigest } from '../../kernel/entity-tags.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { formatPosition, positionOf } from '../../kernel/ledger/position.ts'
import { staleAfterMs } from '../../kernel/ledger/revision-watch.ts'
import type { ObservedHead } from '../../kernel/records.ts'
import { oneFor } from '../../kernel/shared.ts'
import { isoTime } from '../../kernel/values/times.ts'
import {
  includes,
  spanUntilExpiry,
  type TimeSpan,
  type Validity,
} from '../../kernel/values/validity.ts'
import { discoveryText, issuerOf } from '../keys/jwks.ts'
import { digestsOf, expiringKeys, publishedAt } from '../keys/published/texts.ts'
import { type PublishedKeySet, readPublishedRows, toPublishedKeySet } from '../keys/reads.ts'
import { createRevalidatedCache } from './revalidated-cache.ts'

/** Bound of the cached key sets and documents, in bytes. */
const maxCachedBytes = 32 * 1024 * 1024

/** A public document, with the same bytes and tag on every process. */
export interface PublishedDocument {
  body: string
  /** Strong, a digest of the bytes. */
  etag: string
}

/** The key sets that requests can wait for: `jwks.json` and `jwks-full.json`. */
export type KeySetName = 'jwks' | 'fullJwks'

interface Documents extends Record<KeySetName, PublishedDocument> {
  /** The time for which the documents have this content: until the next expiry of a key. */
  span: TimeSpan
}

export interface PublishedProject extends Documents {
  projectId: string
  name: string
  /** The last event of its ledger, as `REVISION.HASH8`. */
  position: string
  /** Seconds for which caches may reuse them: never past the next expiry of a key; 0 if stale. */
  maxAge: number
  /** The validity of the documents with this `maxAge`. */
  validity: Validity
  /** Milliseconds since they were read, if they may lack changes of the last second. */
  staleMs?: number
}

interface ProjectCopy extends PublishedKeySet {
  projectId: string
  documents: Documents
}

/** Renders the public documents and keeps copies of them. */
export const publisherOf = oneFor(
  ({ store: { published: store }, clock, config, onCommit, watch }: Kernel) => {
    const listeners: ((error: unknown) => void)[] = []
    const readRows = (ids: readonly string[]) => store.newest(ids, readPublishedRows)
    const readTogether = createBatchLoader(readRows)
    const copies = createRevalidatedCache<ProjectCopy>({
      clock,
      copies: new LRUCache({
        maxSize: maxCachedBytes,
        sizeCalculation: ({ value }) => bytesOf(value),
      }),
      staleLimitMs: config.jwksStaleLimit * 1000,
      onFailure(error, failingMs) {
        const isAway = watch.ageMs() > staleAfterMs
        if (isAway || failingMs < staleAfterMs) return
        for (const listener of listeners) listener(error)
      },
      async read(projectId, previous) {
        // The hash identifies a history: a fail-over that loses changes reuses their revisions.
        const heads = previous && (await store.heads([projectId]))
        if (heads && heads.get(projectId)?.hash === previous.head) return previous
        const time = clock.now()
        // A change never waits for the first reads of other projects.
        const read = previous === undefined ? readTogether : readRows
        const row = (await read([projectId])).get(projectId)
        if (row instanceof Error) throw row
        const found = row && (await toPublishedKeySet(row, isoTime(time)))
        return found && { projectId, ...found, documents: render(found, time) }
      },
    })
    onCommit(copies.invalidate)

    return {
      /**
       * The project's documents: with every change of this process, and at most 500 ms plus one read
       * behind other processes. While the store is unavailable, the last good ones for
       * `jwksStaleLimit`; then `storage_unavailable`. Never an empty `jwks.json` for a project that had
       * keys in it.
       */
      async published(projectId: string): Promise<PublishedProject> {
        const copy = await copies.get(projectId)
        if (copy === undefined) throw notPublished()
        const time = clock.now()
        if (!includes(copy.documents.span, time)) {
          copy.documents = render(copy, time)
        }
        const ageMs = copies.ageMs(projectId) ?? 0
        if (ageMs <= staleAfterMs) return withMaxAge(copy, time, config.jwksMaxAge)
        return { ...withMaxAge(copy, time, 0), staleMs: ageMs }
      },
      /** Calls the listener when a project cannot be read although the store can, as from a damaged page. */
      onUnreadable: (listener: (error: unknown) => void) => void listeners.push(listener),
      /** Whether `published` would return any project's documents while the store is unavailable. */
      canServe: copies.hasUsable,
      /** Whether `published` would return this project's documents while the store is unavailable. */
      isInMemory: (projectId: string) => copies.getUsable(projectId) !== undefined,
      /** Whether these are the heads of what `published` would return without a read, not stale. */
      headsMatch: (heads: readonly ObservedHead[]) =>
        heads.every(
          ({ ledgerId, hash }) =>
            copies.getFresh(ledgerId)?.head === hash &&
            Number(copies.ageMs(ledgerId)) <= staleAfterMs,
        ),
      /** Milliseconds since the project's documents were last read from the store. */
      ageMs: copies.ageMs,
      /** The project has changed: reads that began before now are no longer served. */
      invalidate: copies.invalidate,
    }
  },
)

export function notPublished(): PubringError {
  return new PubringError('project_not_found', 'There is no project with this id or name.')
}

function render({ texts, digests }: PublishedKeySet, time: number): Documents {
  const current = publishedAt(texts, isoTime(time))
  const tags = current === texts ? digests : digestsOf(current)
  const jwks = { body: current.jwks, etag: tagOfDigest(tags.jwks) }
  const isSame = current.jwksFull === current.jwks
  return {
    jwks,
    fullJwks: isSame ? jwks : { body: current.jwksFull, etag: tagOfDigest(tags.jwksFull) },
    span: spanUntilExpiry(expiringKeys(texts), time),
  }
}

function withMaxAge(copy: ProjectCopy, time: number, limit: number): PublishedProject {
  const { projectId, name, revision, head, documents } = copy
  const { span } = documents
  const secondsLeft = Math.floor((span.until - time) / 1000)
  const maxAge = Math.max(0, Math.min(limit, secondsLeft))
  // A cached response contains its maxAge, which decreases every second before an expiry.
  const from = secondsLeft === Number.POSITIVE_INFINITY ? span.from : time
  const until = Math.min(span.until, span.until - maxAge * 1000 + 1)
  return {
    ...documents,
    projectId,
    name,
    position: formatPosition(positionOf({ revision, hash: head })),
    maxAge,
    validity: { heads: [{ ledgerId: projectId, hash: head }], from, until },
  }
}

function document(text: string): PublishedDocument {
  return { body: text, etag: entityTag(text) }
}

/** Approximate. */
function bytesOf({ documents, texts }: ProjectCopy): number {
  const { jwks, fullJwks } = documents
  const all = [texts.list, texts.jwks, texts.jwksFull, jwks.body, fullJwks.body]
  return 1_500 + [...new Set(all)].reduce((sum, text) => sum + text.length, 0)
}

/** The discovery document, which changes with the algorithms of the published keys. */
export function discovery(
  { publicUrl, algorithms }: CoreConfig,
  { projectId, fullJwks }: PublishedProject,
): PublishedDocument {
  const published = keysOf(fullJwks).map(({ alg }) => alg)
  return document(discoveryText(issuerOf(publicUrl, projectId), published, algorithms))
}

/** The keys of `jwks.json`, each after a line with its kid and alg, which PEM readers skip. */
export function pemSet({ jwks }: PublishedProject): PublishedDocument {
  const blocks = keysOf(jwks).map((key) => `# kid ${key.kid}, alg ${key.alg}\n${toPem(key)}`)
  return document(blocks.length === 0 ? '# No key is active.\n' : blocks.join(''))
}

/** The PEM of an active key; undefined if there is none with this kid. */
export function pemOfKey(
  { fullJwks }: PublishedProject,
  wanted: string,
): PublishedDocument | undefined {
  const key = keysOf(fullJwks).find(({ kid }) => kid === wanted)
  return key && document(toPem(key))
}

type PublishedJwk = webcrypto.JsonWebKey & { kid: string; alg: JwsAlgorithm }

/** The keys of a key set, without the placeholder. */
function keysOf({ body }: PublishedDocument): PublishedJwk[] {
  const { keys }: { keys: PublishedJwk[] } = JSON.parse(body)
  return keys.filter(({ kid }) => kid !== placeholderKid)
}

function toPem(key: PublishedJwk): string {
  return createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
}
