import { LRUCache } from 'lru-cache'
import type { Context, HeadFollower, Store } from '../context.ts'
import { newId } from '../ids.ts'
import type { KeySet, LedgerHead, RotationRecord } from '../records.ts'
import { contradictedProject } from '../storage-faults.ts'
import { now } from '../times.ts'
import { systemLedgerId } from './chain.ts'
import type { SubjectName } from './subjects.ts'
import type { ReplayFindings } from './verification.ts'

/** A row, or a whole chain, that must not be trusted: `key ID`, `ledger ID`. */
export interface Contradiction {
  ledgerId: string
  subject: string
}

/** Milliseconds from the first read of a ledger to its replay, which must not delay a start. */
const replayDelayMs = 10_000

/** How soon a ledger that is in use is replayed again: if nothing was found, and otherwise. */
const replayIntervalMs = 3_600_000
const recheckIntervalMs = 60_000

/** A ledger is replayed for at most a hundredth of the time, however long it is. */
const pauseFactor = 100

const maxLedgers = 20_000

/** Events in one transaction. */
const maxCompleted = 500

/** Of SHA-256 in hex. */
const hashLength = 64

/**
 * Keeps what the ledgers contradict from being used. The store compares each row that it reads with its
 * last event; this also replays the ledgers in use, one at a time in the background, and remembers what
 * that finds. The heads that its store returns change with each finding, so that no copy made before
 * stays valid. Long because all reads share the findings.
 */
export function createContradictions(
  { store, clock, replayLedger }: Pick<Context, 'store' | 'clock' | 'replayLedger'>,
  report: (contradiction: Contradiction) => void,
  delayMs = replayDelayMs,
) {
  const read = new Map<string, ReadonlySet<string>>()
  const replayed = new Map<string, { subjects: ReadonlySet<string>; generation: number }>()
  const recent = new LRUCache<string, true>({
    max: maxLedgers,
    ttl: replayIntervalMs,
    // Reads the clock once a second, and not with each use of a ledger.
    ttlResolution: 1_000,
  })
  const queue = new Set<string>()
  const findingListeners: ((ledgerId: string) => void)[] = []
  let timer: NodeJS.Timeout | undefined

  function schedule(ledgerId: string): void {
    if (replayLedger === undefined || recent.has(ledgerId)) return
    recent.set(ledgerId, true)
    queue.add(ledgerId)
    timer ??= setTimeout(replayQueued, delayMs).unref()
  }
  async function replayQueued(): Promise<void> {
    for (const ledgerId of queue) {
      queue.delete(ledgerId)
      const startTime = clock.monotonic()
      const found = await replayLedger?.(ledgerId).catch(() => undefined)
      if (found !== undefined) {
        remember(ledgerId, new Set(found.contradicted))
        if (ledgerId === systemLedgerId) await complete(found)
      }
      const pauseMs = pauseFactor * (clock.monotonic() - startTime)
      const intervalMs = found?.contradicted.length === 0 ? replayIntervalMs : recheckIntervalMs
      recent.set(ledgerId, true, { ttl: Math.max(intervalMs, pauseMs) })
    }
    timer = undefined
  }
  /** From then on, rows that were last changed by an earlier release are compared completely. */
  async function complete({ incomplete, revision }: ReplayFindings): Promise<void> {
    for (let start = 0; start < incomplete.length; start += maxCompleted) {
      const origin = { actor: { name: 'pubring serve' }, requestId: newId(), time: now(clock) }
      const some = incomplete.slice(start, start + maxCompleted)
      const change = { type: 'ledger.complete', origin, revision, incomplete: some } as const
      // The next replay finds them again.
      await store.commit(change).catch(() => undefined)
    }
  }
  function remember(ledgerId: string, subjects: ReadonlySet<string>): void {
    for (const subject of subjects) report({ ledgerId, subject })
    const { subjects: before = new Set(), generation = 0 } = replayed.get(ledgerId) ?? {}
    if (before.symmetricDifference(subjects).size === 0) return
    replayed.set(ledgerId, { subjects, generation: generation + 1 })
    for (const listener of findingListeners) listener(ledgerId)
  }
  const isContradicted = (ledgerId: string, subject: string) =>
    replayed.get(ledgerId)?.subjects.has(subject) === true

  /** The hash of a head, with the number of the finding if there was one. */
  function withFinding(ledgerId: string, hash: string): string {
    const finding = replayed.get(ledgerId)
    return finding === undefined ? hash : `${hash} ${finding.generation}`
  }
  function noteHeads(read: ReadonlyMap<string, LedgerHead>): Map<string, LedgerHead> {
    const heads = new Map(read)
    for (const [id, { revision, hash }] of read) {
      schedule(id)
      if (replayed.has(id)) heads.set(id, { revision, hash: withFinding(id, hash) })
    }
    return heads
  }
  /** Without the further heads, which may arrive later than newer ones that another read returns. */
  async function readHeads(reads: Pick<Store, 'heads'>, ids: readonly string[]) {
    const found = await reads.heads(ids)
    const requested = ids.flatMap((id) => {
      const head = found.get(id)
      return head === undefined ? [] : [[id, head] as const]
    })
    return noteHeads(new Map(requested))
  }
  /** Followed ledgers are in use, though they are read only when they change. */
  function followHeads(follower: HeadFollower): HeadFollower {
    const followed = new Set<string>()
    let scheduledAt = clock.monotonic()
    // A finding changes the head without a new event, so the store would not return it.
    findingListeners.push((ledgerId) => {
      if (followed.has(ledgerId)) follower.follow(ledgerId)
    })
    return {
      follow(ledgerId) {
        followed.add(ledgerId)
        follower.follow(ledgerId)
      },
      unfollow(ledgerId) {
        followed.delete(ledgerId)
        follower.unfollow(ledgerId)
      },
      async read() {
        const heads = noteHeads(await follower.read())
        if (clock.monotonic() - scheduledAt >= recheckIntervalMs) {
          scheduledAt = clock.monotonic()
          followed.forEach(schedule)
        }
        return heads
      },
    }
  }
  function note<Row extends { id: string; contradicted?: true }>(
    ledgerId: string,
    name: SubjectName,
    row: Row,
  ): Row {
    const subject = `${name} ${row.id}`
    const before = read.get(ledgerId)
    if (row.contradicted || isContradicted(ledgerId, subject)) {
      report({ ledgerId, subject })
      read.set(ledgerId, new Set(before).add(subject))
      return { ...row, contradicted: true }
    }
    if (before?.has(subject)) read.set(ledgerId, before.difference(new Set([subject])))
    return row
  }
  function requireProject(id: string): void {
    if (isContradicted(id, `project ${id}`)) throw contradictedProject()
  }
  async function readKeySet(
    reads: Pick<Store, 'keySet'>,
    projectId: string,
  ): Promise<KeySet | undefined> {
    const keySet = await reads.keySet(projectId)
    if (keySet === undefined) return undefined
    schedule(projectId)
    requireProject(projectId)
    const keys = keySet.keys.map((key) => note(projectId, 'key', key))
    if (!replayed.has(projectId)) return keySet
    return { ...keySet, keys, head: withFinding(projectId, keySet.head) }
  }
  /** Without those that are contradicted: they take no step, and change no role. */
  const noteAll = <Row extends RotationRecord>(rotations: readonly Row[]) =>
    rotations
      .map((rotation) => note(rotation.projectId, 'rotation', rotation))
      .filter(({ contradicted }) => !contradicted)
  const noteInSystem = <Row extends { id: string; contradicted?: true }>(
    name: SubjectName,
    row: Row | undefined,
  ) => row && note(systemLedgerId, name, row)

  schedule(systemLedgerId)
  return {
    /**
     * Its reads mark what the ledgers contradict, and reject contradicted projects. Its heads are only
     * the requested ones.
     */
    store: {
      ...store,
      heads: (ids) => readHeads(store, ids),
      followHeads: () => followHeads(store.followHeads()),
      async headsMatch(seen) {
        if (replayed.size === 0) return store.headsMatch(seen)
        const plain = seen.map((head) => ({ ...head, hash: head.hash.slice(0, hashLength) }))
        const isCurrent = plain.every(
          ({ ledgerId, hash }, index) => withFinding(ledgerId, hash) === seen[index]?.hash,
        )
        return isCurrent && store.headsMatch(plain)
      },
      async findProject(ref) {
        const project = await store.findProject(ref)
        if (project !== undefined) requireProject(project.id)
        return project
      },
      async identifyProject(...args) {
        const project = await store.identifyProject(...args)
        if (project !== undefined) requireProject(project.id)
        return project
      },
      keySet: (projectId) => readKeySet(store, projectId),
      rotations: async (projectId) => noteAll(await store.rotations(projectId)),
      async findRotation(projectId, id) {
        const [rotation] = noteAll(
          [await store.findRotation(projectId, id)].filter((one) => one !== undefined),
        )
        return rotation
      },
      dueRotations: async (...page) => noteAll(await store.dueRotations(...page)),
      findApiKeyByDigest: async (digest) =>
        noteInSystem('api_key', await store.findApiKeyByDigest(digest)),
      findApiKey: async (id) => noteInSystem('api_key', await store.findApiKey(id)),
      findSessionByDigest: async (digest) =>
        noteInSystem('session', await store.findSessionByDigest(digest)),
      findSession: async (id) => noteInSystem('session', await store.findSession(id)),
      async signInRules() {
        const rules = await store.signInRules()
        return rules.map((rule) => note(systemLedgerId, 'sign_in_rule', rule))
      },
      async listApiKeys(boundTo) {
        const apiKeys = await store.listApiKeys(boundTo)
        return apiKeys.map((apiKey) => note(systemLedgerId, 'api_key', apiKey))
      },
      async trustPolicies() {
        const policies = await store.trustPolicies()
        return policies.map((policy) => note(systemLedgerId, 'trust_policy', policy))
      },
      search: {
        ...store.search,
        async projectsById(ids) {
          const projects = await store.search.projectsById(ids)
          return projects.filter(({ id }) => !isContradicted(id, `project ${id}`))
        },
      },
      published: {
        ...store.published,
        heads: (ids) => readHeads(store.published, ids),
        keySet: (projectId) => readKeySet(store.published, projectId),
      },
    } satisfies Store,
    /** Contradictions in what this process has read or replayed. */
    count() {
      const ledgerIds = new Set([...read.keys(), ...replayed.keys()])
      return ledgerIds.values().reduce((sum, id) => {
        return sum + new Set(read.get(id)).union(new Set(replayed.get(id)?.subjects)).size
      }, 0)
    },
    /** Schedules no more replays. */
    close() {
      queue.clear()
      clearTimeout(timer)
    },
  }
}
