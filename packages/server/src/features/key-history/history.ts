import { setImmediate } from 'node:timers/promises'
import { type ChainPosition, genesisHash } from '@pubring/client/internal/log/chain'
import { createSemaphore } from '../../async/semaphore.ts'
import { contradictedProject, storageUnavailable } from '../../kernel/faults.ts'
import type { EventContent, Members } from '../../kernel/ledger/chain.ts'
import { readAccepted, readEntries } from '../../kernel/ledger/reads.ts'
import { applyEffect } from '../../kernel/ledger/subject.ts'
import { entryBreak, pageSize } from '../../kernel/ledger/verification.ts'
import { oneFor } from '../../kernel/shared.ts'
import { cachedByHead } from '../../kernel/storage/cached.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { earliest, latest } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { jwksEntry } from '../keys/jwks.ts'
import { readKeySetInPages } from '../keys/reads.ts'
import { type KeySet, keySetBytes, keys } from '../keys/stored.ts'

/** Times (ISO 8601) between which a key is active; `until` is excluded, and may lie ahead. */
interface ActiveSpan {
  from: string
  until?: string
}

/** What the ledger says of a key, which may be deleted. */
export interface KeyLife {
  id: string
  /** Its members after its last event, or before its deletion. */
  members: Members
  /** In the order of its activations. */
  spans: readonly ActiveSpan[]
  /** When its end was first said to be compromised. */
  compromisedTime?: string
  deleteTime?: string
}

type Lives = ReadonlyMap<string, KeyLife>

/** The keys of a project, and the lives of all that it ever had, at the head of its ledger. */
export type KeyHistory = KeySet & { lives: Lives }

/** Anyone can ask for the history of any project, which reads its whole ledger the first time. */
const placesOf = oneFor((_db: Db) =>
  createSemaphore({
    permits: 2,
    maxWaiting: 100,
    fullError: () =>
      storageUnavailable('Too many key histories are being read. Try again soon.', 2),
  }),
)

const waitingTimeoutMs = 5_000

/** The deleted keys that the document has, those deleted last: it stays small however old the project is. */
const maxDeleted = 1_000

/** The gaps of one key. Earlier ones become one, so that the document claims less trust, and never more. */
const maxGaps = 100

/** The history of a project; undefined if it does not exist. Throws `storage_unavailable`. */
export const keyHistoryOf = cachedByHead<KeyHistory>({
  async read(db, projectId, earlier) {
    const release = await placesOf(db).acquire(waitingTimeoutMs)
    try {
      const keySet = await readKeySetInPages(db, projectId)
      if (keySet === undefined) return undefined
      const lives =
        (earlier && (await livesAt(db, projectId, keySet, earlier))) ??
        (await livesAt(db, projectId, keySet))
      if (lives === undefined) throw contradictedProject()
      return { ...keySet, lives }
    } finally {
      release()
    }
  },
  isCostly: true,
  bytes: ({ lives, ...keySet }) =>
    lives
      .values()
      .reduce((sum, life) => sum + 100 * life.spans.length + 1_000, keySetBytes(keySet)),
  maxBytes: 32 * 1024 * 1024,
})

/**
 * The lives at the head of the key set, by ids, made of an earlier history and the events since. Undefined if
 * one of these is not as it was recorded, unless there is no earlier history and an operator accepted it.
 */
async function livesAt(
  db: Db,
  projectId: string,
  { revision, head }: KeySet,
  earlier?: KeyHistory,
): Promise<Lives | undefined> {
  const lives = new Map(earlier?.lives)
  let last: ChainPosition = { revision: earlier?.revision ?? 0, hash: earlier?.head ?? genesisHash }
  let accepted: number | undefined
  while (last.revision < revision) {
    const limit = Math.min(pageSize, revision - last.revision)
    const entries = await readEntries(db, projectId, { after: last.revision, limit })
    if (entries.length === 0) return undefined
    for (const entry of entries) {
      if (entryBreak(last, entry) !== undefined) {
        // A fail-over may have discarded the end of the earlier history: what was accepted begins without it.
        if (earlier !== undefined) return undefined
        accepted ??= (await readAccepted(db)).get(projectId) ?? 0
        if (last.revision >= accepted) return undefined
      }
      if (entry.content !== undefined) applyToLives(lives, entry.content)
      last = { revision: Number(entry.revision), hash: entry.hash }
    }
    // Other requests are served between the pages.
    await setImmediate()
  }
  return last.revision === revision && last.hash === head ? lives : undefined
}

/** Changes the map, and none of its values. */
function applyToLives(lives: Map<string, KeyLife>, event: EventContent): void {
  for (const effect of keys.effects(event)) {
    const { id } = effect
    const before: KeyLife = lives.get(id) ?? { id, members: {}, spans: [] }
    const isDeletion = effect.action === 'delete'
    const members = isDeletion ? before.members : applyEffect(before.members, effect)
    const isCompromised = members.reason === 'compromised'
    lives.set(id, {
      id,
      members,
      spans: spansAfter(before.spans, isDeletion ? {} : members, event.time),
      ...present({
        compromisedTime: isCompromised ? (before.compromisedTime ?? event.time) : undefined,
        deleteTime: isDeletion ? event.time : undefined,
      }),
    })
  }
}

/**
 * The spans after an event, in order and apart. If the clock was set back before it, a span ends no earlier
 * than it begins: the key counts as active for less time, never for more.
 */
function spansAfter(
  before: readonly ActiveSpan[],
  { active, expireTime }: Members,
  time: string,
): readonly ActiveSpan[] {
  const isOver = (until: Members[string]) => until !== undefined && String(until) <= time
  const isNow = active === true && !isOver(expireTime)
  const last = before.at(-1)
  const isNew = last === undefined || isOver(last.until)
  if (isNew && !isNow) return before
  const from = isNew ? time : last.from
  const until = isNow ? expireTime : time
  const span = { from, ...(until !== undefined && { until: latest(from, String(until)) }) }
  return [...(isNew ? before : before.slice(0, -1)), span]
}

/** Whether the key was active at the time (ISO 8601). */
export function wasActiveAt(spans: readonly ActiveSpan[], time: string): boolean {
  return spans.some(({ from, until }) => from <= time && (until === undefined || time < until))
}

/** Times are in whole seconds, and claim a second only if the key was active during all of it. */
const seconds = (time: string) => Math.floor(Date.parse(time) / 1_000)
const nextSecond = (time: string) => Math.ceil(Date.parse(time) / 1_000)

/** `key-history.json`. Deleted keys have no more than a thumbprint, because their material is gone. */
export function historyText(
  iss: string,
  ledgerId: string,
  { revision, head, keys, lives }: KeyHistory,
): string {
  const listed = keys.flatMap((key) => {
    const life = lives.get(key.id)
    const times = life && !key.contradicted ? timesOf(life) : undefined
    return times ? [{ ...jwksEntry(key), iat: seconds(key.createTime), ...times }] : []
  })
  const deleted = [...lives.values()].flatMap((life) => {
    const { id, members, deleteTime } = life
    const times = timesOf(life)
    if (deleteTime === undefined || times === undefined) return []
    const { publishedKid: kid = id, thumbprint } = members
    return [{ kid, thumbprint, ...times, deleted_at: seconds(deleteTime) }]
  })
  const last = deleted.sort((a, b) => a.deleted_at - b.deleted_at).slice(-maxDeleted)
  return JSON.stringify({ iss, ledgerId, revision, head, keys: listed, deleted: last })
}

/** The times of a key in the document; undefined if it was never active. */
function timesOf({ spans, members, compromisedTime }: KeyLife) {
  const [first, ...others] = spans.filter(({ from, until }) => from !== until)
  if (first === undefined) return undefined
  const gaps: { from: number; until: number }[] = []
  let end = first.until
  for (const { from, until } of others) {
    if (end !== undefined && end < from) gaps.push({ from: seconds(end), until: nextSecond(from) })
    end = until
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
