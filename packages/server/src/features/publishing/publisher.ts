import { isInCommonJwks } from '@pubring/intake/algorithms'
import { LRUCache } from 'lru-cache'
import { PubringError } from '../../errors.ts'
import type { CoreConfig, Store } from '../../kernel/context.ts'
import { entityTag } from '../../kernel/entity-tags.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import type { LedgerEvent, Members } from '../../kernel/ledger/chain.ts'
import { readEvents } from '../../kernel/ledger/event-reads.ts'
import { formatPosition, positionOf } from '../../kernel/ledger/position.ts'
import { staleAfterMs } from '../../kernel/ledger/revision-watch.ts'
import { applyEffect } from '../../kernel/ledger/subject.ts'
import type { ObservedHead } from '../../kernel/records.ts'
import { oneFor } from '../../kernel/shared.ts'
import { isActive, isoTime } from '../../kernel/values/times.ts'
import {
  always,
  includes,
  spanUntilExpiry,
  type TimeSpan,
  type Validity,
} from '../../kernel/values/validity.ts'
import { discoveryText, issuerOf, keySetTexts } from '../keys/jwks.ts'
import { kidOf } from '../keys/kids.ts'
import { readKeySetInPages } from '../keys/reads.ts'
import { type KeyRecord, type KeySet, keySetBytes, keys } from '../keys/stored.ts'
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

/** An active key as PEM. */
interface PemKey {
  /** The kid in the JWKS. */
  kid: string
  alg: string
  publicKeyPem: string
  /** Whether it is in `jwks.json`. */
  isCommon: boolean
}

interface Documents extends Record<KeySetName, PublishedDocument> {
  discovery: PublishedDocument
  /** The active keys, from which the PEM documents are made on request. */
  pemKeys: readonly PemKey[]
  /** The time for which the documents have this content: until the next expiry of a key. */
  span: TimeSpan
}

export interface PublishedProject extends Documents {
  projectId: string
  name: string
  /** Hash of the last event of its ledger. */
  head: string
  /** The last event of its ledger, as `REVISION.HASH8`. */
  position: string
  /** Seconds for which caches may reuse them: never past the next expiry of a key; 0 if stale. */
  maxAge: number
  /** The validity of the documents with this `maxAge`. */
  validity: Validity
  /** Milliseconds since they were read, if they may lack changes of the last second. */
  staleMs?: number
}

interface ProjectCopy {
  projectId: string
  name: string
  revision: number
  head: string
  documents: Documents
  /** Whether a key of the project was ever in `jwks.json`. */
  hadKeys: boolean
  /** Serves to render the documents again after an expiry; absent if no key expires. */
  keySet?: KeySet
}

/** Renders the public documents and keeps copies of them. */
export const publisherOf = oneFor(
  ({ store: { published: store }, clock, config, onCommit, watch }: Kernel) => {
    const listeners: ((error: unknown) => void)[] = []
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
        const found = await store.newest(projectId, readKeySetInPages)
        if (found === undefined) return undefined
        // Nothing of such a row is published, not even its algorithm.
        const keySet = { ...found, keys: found.keys.filter(({ contradicted }) => !contradicted) }
        const { name, revision, head } = keySet
        const time = clock.now()
        const hadKeys =
          publishesKey(keySet, time) || (await hadPublishedKey(store, projectId, revision))
        const documents = render(config, projectId, { keySet, hadKeys }, time)
        const copy = { projectId, name, revision, head, documents, hadKeys }
        return documents.span === always ? copy : { ...copy, keySet }
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
        const { keySet, hadKeys } = copy
        if (keySet !== undefined && !includes(copy.documents.span, time)) {
          copy.documents = render(config, projectId, { keySet, hadKeys }, time)
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

function publishesKey({ keys }: KeySet, time: number): boolean {
  return keys.some((key) => isInCommonJwks(key) && isActive(key, isoTime(time)))
}

function render(
  config: CoreConfig,
  projectId: string,
  { keySet: { keys }, hadKeys }: { keySet: KeySet; hadKeys: boolean },
  time: number,
): Documents {
  const issuer = issuerOf(config.publicUrl, projectId)
  const enabled = keys.filter((key) => key.enabled)
  const texts = keySetTexts(keys, isoTime(time), hadKeys)
  const jwks = document(texts.jwks)
  return {
    jwks,
    fullJwks: texts.fullJwks === texts.jwks ? jwks : document(texts.fullJwks),
    discovery: document(discoveryText(issuer, keys, config.algorithms)),
    pemKeys: keys.filter((key) => isActive(key, isoTime(time))).map(toPemKey),
    span: spanUntilExpiry(enabled, time),
  }
}

function toPemKey(key: KeyRecord): PemKey {
  const { jwsAlgorithm: alg, publicKeyPem } = key
  return { kid: kidOf(key), alg, publicKeyPem, isCommon: isInCommonJwks(key) }
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
    head,
    position: formatPosition(positionOf({ revision, hash: head })),
    maxAge,
    validity: { heads: [{ ledgerId: projectId, hash: head }], from, until },
  }
}

function document(text: string): PublishedDocument {
  return { body: text, etag: entityTag(text) }
}

/** Approximate. */
function bytesOf({ documents, keySet }: ProjectCopy): number {
  const { jwks, fullJwks, discovery, pemKeys } = documents
  const full = fullJwks === jwks ? 0 : fullJwks.body.length
  const pem = pemKeys.reduce((sum, { publicKeyPem }) => sum + 100 + publicKeyPem.length, 0)
  const texts = jwks.body.length + full + discovery.body.length + pem
  return 1_500 + texts + (keySet === undefined ? 0 : keySetBytes(keySet))
}

/** Events per read. Most projects publish a key with one of their first events. */
const historyPageSize = 100

/**
 * Whether a key of the project was ever in `jwks.json`, up to the revision. The ledger knows this of
 * deleted keys too, and every replica reads the same there.
 */
async function hadPublishedKey(
  { read }: Store['published'],
  projectId: string,
  revision: number,
): Promise<boolean> {
  const states = new Map<string, Members>()
  let after = 0
  while (after < revision) {
    const range = { after, limit: historyPageSize }
    const page = await read((db) => readEvents(db, projectId, range))
    for (const event of page) {
      if (event.revision > revision) return false
      if (publishesKeyAfter(states, event)) return true
    }
    if (page.length < historyPageSize) return false
    after = page.at(-1)?.revision ?? revision
  }
  return false
}

/** Applies the event to the states of the keys. */
function publishesKeyAfter(states: Map<string, Members>, event: LedgerEvent): boolean {
  return keys.effects(event).some((effect) => {
    const state = applyEffect(states.get(effect.id) ?? {}, effect)
    states.set(effect.id, state)
    const { algorithm, active, expireTime } = state
    if (!isInCommonJwks({ algorithm: String(algorithm) })) return false
    const expiry = expireTime === undefined ? {} : { expireTime: String(expireTime) }
    return isActive({ enabled: active === true, ...expiry }, event.time)
  })
}

/** The keys of `jwks.json`, each after a line with its kid and alg, which PEM readers skip. */
export function pemSet({ pemKeys }: PublishedProject): PublishedDocument {
  const blocks = pemKeys
    .filter(({ isCommon }) => isCommon)
    .map(({ kid, alg, publicKeyPem }) => `# kid ${kid}, alg ${alg}\n${publicKeyPem}`)
  return document(blocks.length === 0 ? '# No key is active.\n' : blocks.join(''))
}

/** The PEM of an active key; undefined if there is none with this kid. */
export function pemOfKey(
  { pemKeys }: PublishedProject,
  wanted: string,
): PublishedDocument | undefined {
  const key = pemKeys.find(({ kid }) => kid === wanted)
  return key && document(key.publicKeyPem)
}
