import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { KeySetError, type KeySetErrorCode } from '@pubring/client/internal/key-set/errors'
import { follow } from '@pubring/client/internal/key-set/follow'
import {
  formatHead,
  goesBack,
  historyChanged,
  maxReplicaLagMs,
  mayBeEarlier,
} from '@pubring/client/internal/key-set/head'
import type { LogOptions } from '@pubring/client/internal/key-set/options'
import { createProvenKeySet } from '@pubring/client/internal/key-set/proven'
import { createSemaphore } from '@pubring/server/async/semaphore'
import type { Clock } from '@pubring/server/runtime/clock'
import { AgentError } from '../error.ts'
import {
  CopyError,
  documentUrl,
  type FoundKeySet,
  findKeySet,
  graceMs,
  readDocuments,
} from './documents.ts'
import { ageMsOf, type Followed, instantBefore } from './followed.ts'
import { keepKeys, type PublishedKeys, verifyingKeys } from './published-keys.ts'

/**
 * Projects that are loaded at once: at the start, and when the server is back. The others wait, so
 * that a follower of thousands does not flood it.
 */
const maxLoading = 20

/** Pause before a refused project is asked for again, if the command is to end after one response. */
const refusedPauseMs = 250

interface ReaderOptions {
  /** Base URL of the server. */
  url: string
  clock: Clock
  /** The state to which the server may be set back, as `REVISION.HASH8`. */
  acceptedHistory: readonly string[]
  /** The log without whose proof no key is taken over. */
  log: LogOptions | undefined
  /** Receives the reason why a project cannot be read at the moment. */
  report(message: string): void
}

interface SourceOptions extends ReaderOptions {
  /** The projects to follow. The source stores the documents that it receives in them. */
  followed: readonly Followed[]
  staleAfterMs: number
  signal: AbortSignal
  /** A response said something about a project. */
  onChange(): void
}

/** Follows each project by a held request, and retries until the signal is aborted. */
export function followProjects(options: SourceOptions) {
  const places = createSemaphore({ permits: maxLoading })
  const sources = options.followed.map((one) => createSource(one, places, options))
  const stop = () => {
    for (const source of sources) source.stop()
  }
  options.signal.addEventListener('abort', stop, { once: true })
  return {
    /** Resolves at the end, after the signal was aborted. */
    ended: Promise.all(sources.map(({ ended }) => ended)),
    /** Asks for all documents again at once, without waiting for a change. */
    refresh(): void {
      for (const source of sources) source.refresh()
    },
  }
}

/**
 * Reads the documents of all projects once. Throws `AgentError` if those of one cannot be read, or are
 * refused for longer than a replica may be behind.
 */
export async function readProjects(
  followed: readonly Followed[],
  { signal, ...options }: ReaderOptions & { signal: AbortSignal },
): Promise<void> {
  const places = createSemaphore({ permits: maxLoading })
  await Promise.all(
    followed.map(async (one) => {
      const leave = await places.acquire()
      try {
        await readUnlessRefused(one, options, signal)
      } catch (error) {
        throw unreadable(one.project, error)
      } finally {
        leave()
      }
    }),
  )
}

async function readUnlessRefused(one: Followed, options: ReaderOptions, signal: AbortSignal) {
  const read = createReader(one, options)
  for (;;) {
    try {
      return await read(0, signal)
    } catch (error) {
      if (countFailure(one, error, options.clock)) throw error
    }
    await delay(refusedPauseMs, undefined, { signal }).catch(() => {})
  }
}

/** The error of an agent that needs the key set, and could not get it. */
export function unreadable(project: string, error: unknown): unknown {
  if (!(error instanceof KeySetError)) return error
  const kind = error.status === 404 ? 'not_found' : 'unavailable'
  return new AgentError(kind, problemOf(project, error))
}

/** The failure, in the same words for all projects if it concerns the server. */
function problemOf(project: string, { status, message }: KeySetError): string {
  if (status === 404) {
    return `Project ${project}: There is no project with this id or name. Was it renamed? Its id stays the same.`
  }
  const shared = message.replace(/\/v1\/projects\/\S+?\/\.well-known\/[\w.-]+/, '')
  return shared === message ? `Project ${project}: ${message}` : shared
}

/** A function that asks for the documents of the project once, and stores them in it. */
function createReader(one: Followed, options: ReaderOptions) {
  const { url, clock, acceptedHistory, log, report } = options
  let proven: ReturnType<typeof createProvenKeySet> | undefined

  /**
   * Once the id is known, the project is asked for by its name only while that leads to the same id: a
   * request that is held for a name is answered when the name is given up.
   */
  async function find(waitSeconds: number, signal: AbortSignal): Promise<FoundKeySet> {
    const { project, keys: known } = one
    const query = { url, signal, waitSeconds, known }
    if (known === undefined || known.projectId === project) return findKeySet(project, query)
    const isLost = one.nameProblem !== undefined
    const named = await findKeySet(project, isLost ? { ...query, waitSeconds: 0 } : query).catch(
      undefinedIfMissing,
    )
    const isSame = named?.projectId === known.projectId
    one.nameProblem = isSame ? undefined : nameProblemOf(known.projectId, named?.projectId)
    if (isSame) return named
    report(`Project ${project}: ${one.nameProblem}`)
    return findKeySet(known.projectId, query)
  }
  /** Whether it is news of the same history. Throws if it is of another one, or contradicts the log. */
  async function isNews({ response, projectId, keys }: FoundKeySet, signal: AbortSignal) {
    const { head, age } = response
    const known = one.keys?.head
    if (head !== undefined && known !== undefined && goesBack(known, head)) {
      const position = formatHead(head)
      const isAccepted = acceptedHistory.includes(position)
      if (!isAccepted && !one.isUnproven && mayBeEarlier(age, ageMsOf(one, clock))) return false
      if (!isAccepted) throw historyChanged(known, head, adviceFor(position))
    }
    const address = documentUrl(url, projectId, 'jwks-full.json')
    proven ??= log && createProvenKeySet({ url: address, fetch, timeout: graceMs, log })
    const received = keys ?? one.keys?.fullJwks ?? []
    await proven?.check({ head: head ?? known, keys: verifyingKeys(received) }, signal)
    return true
  }
  /** The documents with the keys that the log has proven. Throws if jwks.json contradicts the log. */
  async function onlyProven(keys: PublishedKeys, signal: AbortSignal): Promise<PublishedKeys> {
    if (proven === undefined) return keys
    const { head, jwks } = keys
    await proven.check({ head, keys: verifyingKeys(jwks), isCommon: true }, signal)
    return keepKeys(keys, proven.counts)
  }
  return async (waitSeconds: number, signal: AbortSignal) => {
    const found = await find(waitSeconds, signal)
    const { response } = found
    if (!(await isNews(found, signal))) {
      endLag(one)
      one.isLost = true
      return { response, changed: false }
    }
    const query = { url, signal, waitSeconds, known: one.keys }
    const keys = await onlyProven(await readDocuments(one.project, found, query), signal)
    const ageMs = (response.age ?? 0) * 1_000
    const changed = one.isUnproven || !isDeepStrictEqual(keys, one.keys)
    if (changed) one.keys = keys
    one.isUnproven = false
    endLag(one)
    one.confirmedAt = instantBefore(clock, ageMs)
    one.isLost = ageMs > 0
    return { response, changed }
  }
}

function adviceFor(position: string): string {
  return `Once an operator has looked at the server, start the follower with --accept-history ${position}.`
}

function undefinedIfMissing(error: unknown): undefined {
  if (!(error instanceof KeySetError) || error.status !== 404) throw error
}

function nameProblemOf(id: string, other: string | undefined): string {
  const loss =
    other === undefined
      ? 'No project has this name'
      : `This is the name of another project, ${other}`
  return `${loss}. The one that had it is followed by its id, ${id}. Start the follower with the id of the project that you mean.`
}

const refusalCodes: readonly KeySetErrorCode[] = ['key_set_history_changed', 'key_set_disproved']

function isRefusal(error: unknown): boolean {
  return error instanceof KeySetError && refusalCodes.includes(error.code)
}

/**
 * Returns whether the failure is to be reported: one that a replica may explain only if such failures
 * alone follow one another for longer than a replica may be behind.
 */
function countFailure(one: Followed, error: unknown, clock: Clock): boolean {
  const isRefused = isRefusal(error)
  if (isRefused) one.refusals += 1
  if (one.lag?.isRefused !== isRefused) endLag(one)
  if (!isRefused && !(error instanceof CopyError)) return true
  const time = clock.monotonic()
  one.lag ??= { isRefused, since: time }
  const hasLasted = time - one.lag.since > maxReplicaLagMs
  one.isRefused = isRefused && hasLasted
  return hasLasted
}

function endLag(one: Followed): void {
  one.lag = undefined
  one.isRefused = false
}

/** The requests for one project. One closure, because all of it depends on the last request. */
function createSource(
  one: Followed,
  places: ReturnType<typeof createSemaphore>,
  { staleAfterMs, onChange, ...options }: SourceOptions,
) {
  const read = createReader(one, options)
  const lifetime = new AbortController()
  let held: AbortController | undefined
  /** Whether the last request succeeded; otherwise the next one must be answered at once. */
  let isConfirmed = false
  let isRefreshing = false
  let leave = () => {}

  async function update(waitSeconds: number, signal: AbortSignal) {
    const result = await read(waitSeconds, signal)
    if (result.changed || isRefreshing) {
      one.hasChanged = true
      onChange()
    }
    isRefreshing = false
    return result
  }
  /** After a failure, keeps its place until the next attempt: so few ask a server that is away. */
  async function load(): Promise<void> {
    leave()
    leave = await places.acquire()
    await update(0, lifetime.signal)
    isConfirmed = true
    leave()
  }
  async function poll(waitSeconds: number) {
    if (!isConfirmed) {
      await load()
      return undefined
    }
    const controller = new AbortController()
    held = controller
    try {
      return await update(waitSeconds, controller.signal)
    } catch (error) {
      if (controller.signal.aborted) return undefined
      throw error
    }
  }
  function onError(error: KeySetError): void {
    // A proxy has given up on the held request, not on the server.
    if (error.status === 504 && isConfirmed) return
    isConfirmed = false
    if (!countFailure(one, error, options.clock)) return
    one.isLost = true
    options.report(problemOf(one.project, error))
  }
  const followOptions = {
    maxStaleMs: staleAfterMs,
    isWanted: () => true,
    poll,
    onMode: () => {},
    onError,
  }
  return {
    ended: follow(followOptions, lifetime.signal).finally(() => leave()),
    stop(): void {
      lifetime.abort()
      held?.abort()
    },
    refresh(): void {
      isConfirmed = false
      isRefreshing = true
      held?.abort()
    },
  }
}
