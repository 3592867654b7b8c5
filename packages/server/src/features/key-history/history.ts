import { setImmediate } from 'node:timers/promises'
import { type ChainPosition, genesisHash } from '@pubring/client/internal/log/chain'
import { LRUCache } from 'lru-cache'
import { createSemaphore } from '../../async/semaphore.ts'
import { createSingleFlight } from '../../async/single-flight.ts'
import type { Store } from '../../kernel/context.ts'
import { entityTag } from '../../kernel/entity-tags.ts'
import { contradictedProject, notFound, storageUnavailable } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { readEventRows } from '../../kernel/ledger/event-reads.ts'
import { readAccepted, readEntries } from '../../kernel/ledger/reads.ts'
import { entryBreak } from '../../kernel/ledger/verification.ts'
import { oneFor } from '../../kernel/shared.ts'
import { readNewest } from '../../kernel/storage/each.ts'
import { earliest, latest } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import type { KeyDocument } from '../keys/documents.ts'
import { issuerOf, jwksEntry } from '../keys/jwks.ts'
import { readKeySetInPages } from '../keys/reads.ts'
import type { KeySet } from '../keys/stored.ts'
import { applyToLives, type KeyLife } from './lives.ts'

/** The lives of all keys that a project ever had, at the head of its ledger. */
export interface KeyHistory {
  revision: number
  head: string
  lives: ReadonlyMap<string, KeyLife>
  /** `key-history.json`. */
  document: KeyDocument
}

const maxCachedBytes = 32 * 1024 * 1024

/** Events of one read, between which other requests are served. */
const pageSize = 500

/** The deleted keys that the document has, those deleted last: it stays small however old the project is. */
const maxDeleted = 1_000

/** The gaps of one key. Earlier ones become one, so that the document claims less trust, and never more. */
const maxGaps = 100

/** Anyone can ask for the history of any project, which reads its whole ledger the first time. */
const maxReads = 2
const maxWaiting = 100
const waitingTimeoutMs = 5_000

/**
 * Reads the history of a project at this head of its ledger, or a later one. It is kept in memory, so that
 * after a change only the new events are read. Throws `project_not_found` or `storage_unavailable`.
 */
export const keyHistoryOf = oneFor(({ store: { published: store }, config }: Kernel) => {
  const copies = new LRUCache<string, KeyHistory>({
    maxSize: maxCachedBytes,
    sizeCalculation: bytesOf,
  })
  const reads = createSingleFlight<KeyHistory>()
  const places = createSemaphore({ permits: maxReads, maxWaiting, fullError: tooManyReads })

  async function read(projectId: string): Promise<KeyHistory> {
    const keySet = await readNewest(store, projectId, readKeySetInPages)
    if (keySet === undefined) throw notFound('project_not_found')
    const { revision, head } = keySet
    const earlier = await stillPartOf(store.read, projectId, keySet, copies.get(projectId))
    const lives = await livesAt(store.read, projectId, keySet, earlier)
    const body = historyText(issuerOf(config.publicUrl, projectId), projectId, keySet, lives)
    const history = { revision, head, lives, document: { body, etag: entityTag(body) } }
    copies.set(projectId, history)
    return history
  }
  return async (projectId: string, head: string): Promise<KeyHistory> => {
    const known = copies.get(projectId)
    if (known?.head === head) return known
    // Only callers that have read the same head share a read: for others it may be too old.
    return reads.run(`${projectId} ${head}`, async () => {
      const release = await places.acquire(waitingTimeoutMs)
      try {
        return await read(projectId)
      } finally {
        release()
      }
    })
  }
})

function tooManyReads() {
  const detail = 'Too many key histories are being read for the first time. Try again soon.'
  return storageUnavailable(detail, 2)
}

/** Approximate. */
function bytesOf({ lives, document }: KeyHistory): number {
  const spans = lives.values().reduce((sum, life) => sum + life.spans.length, 0)
  return 1_000 + document.body.length + 1_000 * lives.size + 100 * spans
}

type Read = Store['published']['read']

/** The earlier history if the ledger still begins with it: a fail-over may have discarded its end. */
async function stillPartOf(
  read: Read,
  projectId: string,
  { revision }: KeySet,
  earlier: KeyHistory | undefined,
): Promise<KeyHistory | undefined> {
  if (earlier === undefined || earlier.revision > revision) return undefined
  const range = { after: earlier.revision - 1, limit: 1 }
  const [event] = await read((db) => readEventRows(db, projectId, range))
  return event?.hash === earlier.head ? earlier : undefined
}

/**
 * The lives at the head of the key set, made of an earlier history and the events since. Throws
 * `storage_unavailable` if one of these is not as it was recorded, unless an operator accepted it.
 */
async function livesAt(
  read: Read,
  projectId: string,
  { revision, head }: KeySet,
  earlier: KeyHistory | undefined,
): Promise<ReadonlyMap<string, KeyLife>> {
  const lives = new Map(earlier?.lives)
  let last: ChainPosition = {
    revision: earlier?.revision ?? 0,
    hash: earlier?.head ?? genesisHash,
  }
  let accepted: number | undefined
  while (last.revision < revision) {
    const range = { after: last.revision, limit: Math.min(pageSize, revision - last.revision) }
    const entries = await read((db) => readEntries(db, projectId, range))
    if (entries.length === 0) break
    for (const entry of entries) {
      if (entryBreak(last, entry) !== undefined) {
        accepted ??= (await read(readAccepted)).get(projectId) ?? 0
        if (last.revision >= accepted) throw contradictedProject()
      }
      if (entry.content?.type.startsWith('key.')) applyToLives(lives, entry.content)
      last = { revision: Number(entry.revision), hash: entry.hash }
    }
    await setImmediate()
  }
  if (last.revision !== revision || last.hash !== head) throw contradictedProject()
  return lives
}

/** Times are in whole seconds, and claim a second only if the key was active during all of it. */
const seconds = (time: string) => Math.floor(Date.parse(time) / 1_000)
const nextSecond = (time: string) => Math.ceil(Date.parse(time) / 1_000)

/** Deleted keys have no more than a thumbprint, because their material is gone. */
function historyText(
  issuer: string,
  projectId: string,
  { revision, head, keys }: KeySet,
  lives: ReadonlyMap<string, KeyLife>,
): string {
  const listed = keys.flatMap((key) => {
    const life = lives.get(key.id)
    const times = life && !key.contradicted ? timesOf(life) : undefined
    return times ? [{ ...jwksEntry(key), iat: seconds(key.createTime), ...times }] : []
  })
  const deleted = [...lives.values()]
    .flatMap((life) => {
      const { id, members, deleteTime } = life
      const times = timesOf(life)
      if (deleteTime === undefined || times === undefined) return []
      const { publishedKid: kid = id, thumbprint } = members
      return [{ kid, thumbprint, ...times, deleted_at: seconds(deleteTime) }]
    })
    .sort((a, b) => a.deleted_at - b.deleted_at)
    .slice(-maxDeleted)
  return JSON.stringify({ iss: issuer, ledgerId: projectId, revision, head, keys: listed, deleted })
}

/** The times of a key in the document; undefined if it was never active. */
function timesOf({ spans, members, compromisedTime }: KeyLife) {
  const [first, ...others] = spans
    .filter(({ from, until }) => until === undefined || from < until)
    .toSorted((a, b) => (a.from < b.from ? -1 : 1))
  if (first === undefined) return undefined
  const gaps: { from: number; until: number }[] = []
  let end = first.until
  for (const { from, until } of others) {
    if (end === undefined) break
    if (end < from) gaps.push({ from: seconds(end), until: nextSecond(from) })
    end = until && latest(end, until)
  }
  const [oldest, ...kept] = gaps.slice(-maxGaps)
  const inactive = oldest && [{ ...oldest, from: gaps[0]?.from ?? oldest.from }, ...kept]
  const isExpiry = members.reason === undefined && members.expireTime === end
  const revokeTime = compromisedTime ? earliest(compromisedTime, end) : isExpiry ? undefined : end
  return {
    active_from: nextSecond(first.from),
    ...present({
      inactive,
      exp: end && seconds(end),
      revoked: revokeTime && {
        revoked_at: seconds(revokeTime),
        reason: members.reason ?? 'unspecified',
      },
    }),
  }
}
