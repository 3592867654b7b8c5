import { urlById } from './address.ts'
import type { KeySetCache } from './cache.ts'
import { KeySetError } from './errors.ts'
import { fetchKeySet, type KeySetResponse } from './fetch.ts'
import { follow, type UpdateMode } from './follow.ts'
import type { KeySetOptions, KeySetState } from './options.ts'
import type { ProvenKeySet } from './proven.ts'
import { unrefLongPolls } from './unref-sockets.ts'

/** A long poll that is later than this beyond its wait has lost its connection. */
const longPollSlackMs = 3_000

export type Updater = ReturnType<typeof createUpdater>

type UpdaterOptions = Required<
  Pick<KeySetOptions, 'maxStale' | 'timeout' | 'fetch' | 'background'>
> &
  Pick<KeySetOptions, 'onChange'> & { url: string; proven: ProvenKeySet | undefined }

type Status = { mode: UpdateMode; following: boolean; closed: boolean; error?: KeySetError }

/**
 * Keeps the cache up to date, and reports its state. Long because its functions share the status and the
 * pending long poll.
 */
export function createUpdater(options: UpdaterOptions, cache: KeySetCache) {
  const { fetch, proven, background } = options
  let { url } = options
  const status: Status = { mode: 'polling', following: false, closed: false }
  // Without background, requests belong to the calls that send them.
  const lifetime = background ? new AbortController() : undefined
  let pendingPoll: AbortController | undefined
  const isCommon = /\/jwks\.json$/.test(new URL(url).pathname)
  const state = () => currentState(status, background, cache, proven)
  const notify = createNotifier(state, cache, options.onChange)

  /**
   * If the log has a later revision already, asks again: the change came after the response, or a cache has
   * answered. A cache that answers again has a copy, of which the keys that the log still has are used.
   */
  async function request(
    waitSeconds: number,
    signal: AbortSignal | undefined,
    isAgain = false,
  ): Promise<{ response: KeySetResponse; changed: boolean }> {
    const { etag } = cache.contents() ?? {}
    const sentWith = { etag, version: cache.version(), waitSeconds }
    const timeoutMs = waitSeconds === 0 ? options.timeout : waitSeconds * 1_000 + longPollSlackMs
    const query = { url, fetch, etag, waitSeconds, noCache: isAgain, timeoutMs, signal }
    const response = await fetchKeySet(query)
    const isCopy = isAgain && response.age !== undefined
    const head = cache.headOf(response)
    try {
      await proven?.check({ head, keys: cache.keysOf(response), isCommon, isCopy }, signal)
    } catch (error) {
      const isOlder = head !== undefined && head.revision < (proven?.latest() ?? 0)
      if (isAgain || !isOlder) throw error
      return request(0, signal, true)
    }
    if (status.closed) throw closedError()
    url = urlById(url, response.contentLocation)
    cache.store(response, sentWith)
    delete status.error
    return { response, changed: cache.version() !== sentWith.version }
  }
  async function poll(waitSeconds: number) {
    const controller = new AbortController()
    pendingPoll = controller
    try {
      return await request(waitSeconds, controller.signal)
    } catch (error) {
      if (controller.signal.aborted) return undefined
      throw error
    } finally {
      notify()
    }
  }
  function onError(error: KeySetError): void {
    status.error = error
    notify()
  }
  function onMode(mode: UpdateMode): void {
    status.mode = mode
  }
  return {
    /** Fetches the key set with a plain request. */
    async load(): Promise<void> {
      try {
        const { response, changed } = await request(0, lifetime?.signal)
        if (background) status.mode = detectMode(response) ?? status.mode
        if (!status.following) return
        // The pending poll is about the previous key set and would miss changes of this one.
        if (changed) pendingPoll?.abort()
        notify()
      } catch (error) {
        if (error instanceof KeySetError) onError(error)
        throw error
      }
    },
    /** Follows the key set while it is wanted; not without `background`, or while it is followed. */
    follow(isWanted: () => boolean): void {
      if (lifetime === undefined || status.following || status.closed) return
      status.following = true
      const stopUnref = unrefLongPolls(url)
      const followOptions = { maxStaleMs: options.maxStale, isWanted, poll, onMode, onError }
      void follow(followOptions, lifetime.signal).finally(() => {
        status.following = false
        stopUnref()
        notify()
      })
      notify()
    },
    isFollowing: () => status.following,
    isClosed: () => status.closed,
    state,
    close(): void {
      status.closed = true
      lifetime?.abort()
      pendingPoll?.abort()
      notify()
    },
  }
}

export function closedError(): KeySetError {
  return new KeySetError('key_set_unavailable', 'The key set is closed.')
}

/** The mode that the first full response suggests: whether `Prefer` reached the service. */
function detectMode({ body, appliedWait, age }: KeySetResponse): UpdateMode | undefined {
  if (body === undefined) return undefined
  return appliedWait !== undefined && (age ?? 0) === 0 ? 'live' : 'polling'
}

function currentState(
  status: Status,
  background: boolean,
  cache: KeySetCache,
  proven: ProvenKeySet | undefined,
): KeySetState {
  const { error } = status
  const confirmedAt = cache.confirmedAt()
  const provenRevision = proven?.latest()
  const all = [...(cache.contents()?.entries.values() ?? [])]
  const kids = all.filter((entry) => proven?.counts(entry) !== false).map(({ kid }) => kid)
  const unprovenKids = all.map(({ kid }) => kid).filter((kid) => !kids.includes(kid))
  return {
    status: statusName(status, background, cache),
    kids,
    ...(proven && { unprovenKids }),
    ...(confirmedAt === undefined ? {} : { contactTime: new Date(confirmedAt.epochMs) }),
    ...(provenRevision === undefined ? {} : { provenRevision }),
    ...(error === undefined ? {} : { error }),
  }
}

function statusName(
  status: Status,
  background: boolean,
  cache: KeySetCache,
): KeySetState['status'] {
  const { mode, following, closed, error } = status
  if (closed) return 'closed'
  if (cache.contents() === undefined) return 'empty'
  if (!cache.isFresh()) return 'stale'
  if (background && !following) return 'idle'
  return error === undefined ? mode : 'interrupted'
}

/** Calls `onChange` when the status or the keys have changed; what it throws does not reach callers. */
function createNotifier(
  state: () => KeySetState,
  cache: KeySetCache,
  onChange: KeySetOptions['onChange'],
): () => void {
  let lastNotified = 'empty 0'
  return () => {
    if (onChange === undefined) return
    const current = state()
    const { provenRevision = '' } = current
    const key = `${current.status} ${cache.version()} ${provenRevision}`.trimEnd()
    if (key === lastNotified) return
    lastNotified = key
    queueMicrotask(() => onChange(current))
  }
}
