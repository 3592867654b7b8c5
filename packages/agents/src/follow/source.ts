import { isDeepStrictEqual } from 'node:util'
import { KeySetError } from '@pubring/client/internal/key-set/errors'
import {
  fetchKeySet,
  type KeySetResponse,
  notAKeySet,
} from '@pubring/client/internal/key-set/fetch'
import { follow } from '@pubring/client/internal/key-set/follow'
import { normalizeUrl } from '@pubring/client/internal/validation'
import { createSemaphore } from '@pubring/server/async/semaphore'
import type { Clock } from '@pubring/server/kernel/context'
import { isObject } from '@pubring/server/runtime/json'
import { FollowError } from './error.ts'
import { emptied, type PublishedKeys, parseKeys } from './published-keys.ts'

/** A project that is followed, and what is known of it. */
export interface Followed {
  /** Its id or name, as on the command line. */
  readonly project: string
  /** The documents as last received. */
  keys?: PublishedKeys
  /** When the server last confirmed the documents. */
  confirmedAt: Instant
  /** Whether it cannot be read: from then on silence does not mean that nothing changes. */
  isLost: boolean
  /** Whether it was lost, and not confirmed for longer than `--stale-after`. */
  isStale: boolean
  /** Whether what is shown of it has still to be written. */
  hasChanged: boolean
}

/** Milliseconds by two clocks: the monotonic one stands still while a machine sleeps. */
interface Instant {
  monotonic: number
  wall: number
}

export function newFollowed(project: string): Followed {
  const confirmedAt = { monotonic: 0, wall: 0 }
  return {
    project,
    confirmedAt,
    isLost: false,
    isStale: false,
    hasChanged: false,
  }
}

/** The time `ageMs` ago. */
function instantBefore(clock: Clock, ageMs: number): Instant {
  return { monotonic: clock.monotonic() - ageMs, wall: clock.now() - ageMs }
}

/** Milliseconds since the server confirmed the documents, by the clock that shows more. */
export function ageMsOf({ confirmedAt: { monotonic, wall } }: Followed, clock: Clock): number {
  return Math.max(clock.monotonic() - monotonic, clock.now() - wall)
}

/** The keys that are written and served: with `--on-stale empty`, none once the project is stale. */
export function shownOf(
  { keys, isStale }: Followed,
  onStale: 'keep' | 'empty',
): PublishedKeys | undefined {
  return keys !== undefined && isStale && onStale === 'empty' ? emptied(keys) : keys
}

/**
 * Projects that are loaded at once: at the start, and when the server is back. The others wait, so
 * that a follower of thousands does not flood it.
 */
const maxLoading = 20

/** How much later a response may come before the connection is given up. */
const graceMs = 5_000

interface SourceOptions {
  /** Base URL of the server. */
  url: string
  /** The projects to follow. The source stores the documents that it receives in them. */
  followed: readonly Followed[]
  clock: Clock
  staleAfterMs: number
  signal: AbortSignal
  /** A response said something about a project. */
  onChange(): void
  /** Receives the reason why a project cannot be read at the moment. */
  report(message: string): void
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

/** Asks once for the documents of all projects. Throws `FollowError` if those of one cannot be read. */
export async function readProjects(
  projects: readonly string[],
  connection: Pick<SourceOptions, 'url' | 'signal'>,
): Promise<PublishedKeys[]> {
  const places = createSemaphore({ permits: maxLoading })
  return Promise.all(
    projects.map(async (project) => {
      const leave = await places.acquire()
      const request = { ...connection, known: undefined, waitSeconds: 0 }
      try {
        return (await readDocuments(project, request)).keys
      } catch (error) {
        if (!(error instanceof KeySetError)) throw error
        const kind = error.status === 404 ? 'not_found' : 'unavailable'
        throw new FollowError(kind, problemOf(project, error))
      } finally {
        leave()
      }
    }),
  )
}

/** What went wrong, in the same words for all projects if it concerns the server. */
function problemOf(project: string, { status, message }: KeySetError): string {
  if (status === 404) return `Project ${project}: There is no project with this id or name.`
  const shared = message.replace(/\/v1\/projects\/\S+?\/\.well-known\/[\w.-]+/, '')
  return shared === message ? `Project ${project}: ${message}` : shared
}

/** The requests for one project. One closure, because all of it depends on the last request. */
function createSource(
  one: Followed,
  places: ReturnType<typeof createSemaphore>,
  { url, clock, staleAfterMs, onChange, report }: SourceOptions,
) {
  const lifetime = new AbortController()
  let held: AbortController | undefined
  /** Whether the last request succeeded; otherwise the next one must be answered at once. */
  let isConfirmed = false
  let isRefreshing = false
  let leave = () => {}

  async function update(waitSeconds: number, signal: AbortSignal) {
    const request = { url, known: one.keys, waitSeconds, signal }
    const { response, keys } = await readDocuments(one.project, request)
    const ageMs = (response.age ?? 0) * 1_000
    const changed = !isDeepStrictEqual(keys, one.keys)
    one.keys = keys
    one.confirmedAt = instantBefore(clock, ageMs)
    one.isLost = ageMs > 0
    if (changed || isRefreshing) {
      one.hasChanged = true
      onChange()
    }
    isRefreshing = false
    return { response, changed }
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
    one.isLost = true
    report(problemOf(one.project, error))
  }
  const options = {
    maxStaleMs: staleAfterMs,
    isWanted: () => true,
    poll,
    onMode: () => {},
    onError,
  }
  return {
    ended: follow(options, lifetime.signal).finally(() => leave()),
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

interface DocumentsRequest extends Pick<SourceOptions, 'url' | 'signal'> {
  known: PublishedKeys | undefined
  /** How long the server may hold the request until the key set differs from the known one. */
  waitSeconds: number
}

/**
 * Asks for the full key set, and for the other documents if they may have changed. They have not as
 * long as the project has the same revision and the connection held.
 */
async function readDocuments(
  project: string,
  { url, known, waitSeconds, signal }: DocumentsRequest,
): Promise<{ response: KeySetResponse; keys: PublishedKeys }> {
  function get(ref: string, name: string, etag?: string, wait = 0) {
    const path = `/projects/${encodeURIComponent(ref)}/.well-known/${name}`
    const timeoutMs = wait * 1_000 + graceMs
    const address = `${normalizeUrl(url)}${path}`
    return fetchKeySet({ url: address, fetch, etag, waitSeconds: wait, timeoutMs, signal })
  }
  const response = await get(project, 'jwks-full.json', known?.etag, waitSeconds)
  const { body, etag, head, contentLocation = '' } = response
  const isSame = body === undefined && head !== undefined && head.revision === known?.head?.revision
  if (known !== undefined && isSame && waitSeconds > 0) return { response, keys: known }
  const projectId = /\/projects\/([^/]+)\/\.well-known\//.exec(contentLocation)?.[1] ?? project
  const [jwks, discovery] = await Promise.all([
    get(projectId, 'jwks.json'),
    get(projectId, 'openid-configuration'),
  ])
  const fullJwks = body === undefined ? known?.fullJwks : parseKeys(body)
  const commonJwks = parseKeys(jwks.body)
  if (commonJwks === undefined || fullJwks === undefined || !isObject(discovery.body)) {
    throw notAKeySet(url)
  }
  const documents = { jwks: commonJwks, fullJwks, discovery: discovery.body }
  return { response, keys: { project, projectId, etag, head, ...documents } }
}
