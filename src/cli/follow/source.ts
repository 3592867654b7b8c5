import { setTimeout as delay } from 'node:timers/promises'
import { createDeadline } from '../../../client/src/deadline.ts'
import { PubringError } from '../../../client/src/index.ts'
import { retryDelayMs } from '../../../client/src/retry.ts'
import { readText } from '../../../client/src/text-chunks.ts'
import { createTransport, type Operation } from '../../../client/src/transport.ts'
import type { Clock } from '../../core/context.ts'
import { holdsMoreValues } from '../../intake/encoding/json-text.ts'
import { isObject, parseJson } from '../../runtime/json.ts'
import { type Followed, instantBefore, newFollowed } from './followed.ts'
import { type PublishedKeys, parsePublishedKeys } from './published-keys.ts'

/** Projects that one held request follows; the server's limit. */
const projectsPerRequest = 100

/** Seconds that a request is held: below the usual limit of proxies, 30 s. */
const waitSeconds = 25

/** Requests behind a proxy that gives up sooner are held no shorter. */
const minWaitSeconds = 2

/** How much later a response may come before the connection is given up. */
const graceMs = 5_000

/** Minimum time between two requests, regardless of the responses. */
const minIntervalMs = 100

/** Longest `Retry-After` that is obeyed. */
const maxRetryAfterSeconds = 30

/** How long a project that cannot be read is left out of the requests. */
const problemPauseMs = 5_000

/** A larger response is rejected, and one with more values: 60 MB of brackets would take 3 GB. */
const maxResponseLength = 64 * 1024 * 1024
const maxResponseValues = 1_000_000

/** Characters of a problem that are shown. */
const maxProblemLength = 500

interface SourceOptions {
  /** Base URL of the server. */
  url: string
  /** What is received is stored in them. */
  followed: readonly Followed[]
  clock: Clock
  signal: AbortSignal
  /** A response said something about a project. */
  onChange(): void
  /** Is told why a project cannot be read at the moment. */
  report(message: string): void
}

function inBatches(followed: readonly Followed[]): Followed[][] {
  const count = Math.ceil(followed.length / projectsPerRequest)
  return Array.from({ length: count }, (_, index) =>
    followed.slice(index * projectsPerRequest, (index + 1) * projectsPerRequest),
  )
}

/** Follows the projects, up to 100 on each connection, and retries until the signal is aborted. */
export function followProjects(options: SourceOptions) {
  const batches = inBatches(options.followed).map((followed) => {
    return createBatch({ ...options, followed })
  })
  return {
    /** Resolves at the end, after the signal was aborted. */
    ended: Promise.all(batches.map((batch) => batch.run())),
    /** Asks for all documents again at once, without waiting for a change. */
    refresh(): void {
      for (const batch of batches) batch.refresh()
    },
  }
}

/** Asks once for the documents of all projects. Throws `PubringError`, also if one cannot be read. */
export async function readProjects(
  projects: readonly string[],
  connection: Pick<SourceOptions, 'url' | 'signal'>,
): Promise<PublishedKeys[]> {
  const read: PublishedKeys[] = []
  for (const batch of inBatches(projects.map(newFollowed))) {
    const { changes } = await request(connection, batch, 0)
    for (const { answer } of changes) {
      if (typeof answer === 'string') throw new PubringError('project_not_found', answer)
      read.push(answer)
    }
  }
  return read
}

/** The projects of one connection. One closure, because all of it depends on the last request. */
function createBatch({ followed, url, clock, signal, onChange, report }: SourceOptions) {
  /** Whether the last request succeeded; otherwise the next one must be answered at once. */
  let isConfirmed = false
  let maxWait = waitSeconds
  let pending = new AbortController()

  async function poll(): Promise<void> {
    const asked = followed.filter(({ pausedUntil }) => pausedUntil <= clock.monotonic())
    if (asked.length === 0) return sleep(problemPauseMs, pending.signal)
    const pause = asked.length === followed.length ? waitSeconds : problemPauseMs / 1_000
    const wait = isConfirmed ? Math.min(pause, maxWait) : 0
    const aborted = AbortSignal.any([signal, pending.signal])
    const { changes, ageMs } = await request({ url, signal: aborted }, asked, wait)
    isConfirmed = true
    const confirmed = new Set(asked)
    for (const { one, answer } of changes) {
      if (typeof answer === 'string') {
        confirmed.delete(one)
        one.isLost = true
        one.pausedUntil = clock.monotonic() + problemPauseMs
        report(answer)
      } else Object.assign(one, { keys: answer, etag: answer.etag, hasChanged: true })
    }
    for (const one of confirmed) {
      one.confirmedAt = instantBefore(clock, ageMs)
      one.isLost = ageMs > 0
    }
    if (changes.length > 0) onChange()
  }
  /** What went wrong; undefined if the next request should be sent at once. */
  function failureOf(error: unknown): PubringError | undefined {
    if (!(error instanceof PubringError)) throw error
    if (error.code === 'aborted') return undefined
    if (error.status !== 504 || !isConfirmed || maxWait === minWaitSeconds) return error
    // A proxy has given up on the held request, not on the server.
    maxWait = Math.max(minWaitSeconds, Math.floor(maxWait / 2))
    return undefined
  }
  return {
    async run(): Promise<void> {
      for (let failures = 0; !signal.aborted; ) {
        if (pending.signal.aborted) pending = new AbortController()
        try {
          await poll()
          failures = 0
          await sleep(minIntervalMs, signal)
        } catch (error) {
          const failure = failureOf(error)
          if (failure === undefined) continue
          isConfirmed = false
          for (const one of followed) one.isLost = true
          report(failure.message)
          const retryAfter = Math.min(maxRetryAfterSeconds, failure.retryAfter ?? 0)
          await sleep(retryDelayMs(failures, retryAfter), AbortSignal.any([signal, pending.signal]))
          failures += 1
        }
      }
    },
    refresh(): void {
      for (const one of followed) Object.assign(one, { etag: undefined, pausedUntil: 0 })
      isConfirmed = false
      pending.abort()
    },
  }
}

/** New documents of a project, or why it cannot be read. */
interface Change {
  one: Followed
  answer: PublishedKeys | string
}

/** `POST /v1/key-set-changes`, with the age of the response. Throws `PubringError`. */
async function request(
  { url, signal }: Pick<SourceOptions, 'url' | 'signal'>,
  asked: readonly Followed[],
  wait: number,
): Promise<{ changes: Change[]; ageMs: number }> {
  const transport = createTransport({ url })
  const operation: Operation = {
    method: 'POST',
    path: '/key-set-changes',
    headers: { prefer: `wait=${wait}` },
    body: { projects: asked.map(({ project, etag }) => ({ project, etag })) },
    signal,
    retry: 'always',
    access: 'public',
  }
  const deadline = createDeadline(wait * 1_000 + graceMs, signal)
  try {
    const response = await transport.open(operation, deadline.signal)
    const changes = parseChanges((await readText(response, maxResponseLength)) ?? '', asked)
    if (changes === undefined) throw noKeySets(url)
    const age = Number(/^\d+$/.exec(response.headers.get('age') ?? '')?.[0] ?? 0)
    return { changes, ageMs: age * 1_000 }
  } catch (error) {
    throw transport.toError(operation, error, deadline.expired())
  } finally {
    deadline.clear()
  }
}

/**
 * Ignores projects that were not asked for. Undefined if the text is no response of a Pubring server,
 * also if a project is missing of which nothing is known yet.
 */
function parseChanges(text: string, asked: readonly Followed[]): Change[] | undefined {
  const entries = holdsMoreValues(Buffer.from(text), maxResponseValues) ? '' : parseJson(text)
  if (!Array.isArray(entries)) return undefined
  const byName = new Map(asked.map((one) => [one.project, one]))
  const changes: Change[] = []
  for (const entry of entries.filter(isObject)) {
    const one = byName.get(String(entry.project))
    if (one === undefined) continue
    const answer = isObject(entry.problem)
      ? `Project ${one.project}: ${String(entry.problem.detail).slice(0, maxProblemLength)}`
      : parsePublishedKeys(entry)
    if (answer === undefined) return undefined
    changes.push({ one, answer })
  }
  const answered = new Set(changes.map(({ one }) => one))
  return asked.every((one) => one.etag !== undefined || answered.has(one)) ? changes : undefined
}

function noKeySets(url: string): PubringError {
  return new PubringError(
    'unexpected_response',
    `The response of ${url} is not a list of key sets. Check that it is the address of your Pubring server, of a release that has POST /v1/key-set-changes.`,
  )
}

/** Ends early, without an error, when the signal is aborted. */
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined)
}
