import { setTimeout as delay } from 'node:timers/promises'
import { retryAfterSeconds, retryDelayMs } from '../../../client/src/retry.ts'
import type { Clock } from '../../core/context.ts'
import { holdsMoreValues } from '../../intake/encoding/json-text.ts'
import { isObject, parseJson } from '../../runtime/json.ts'
import { type PublishedKeys, parsePublishedKeys } from './published-keys.ts'

/** Projects that one held request follows; the server's limit. */
const projectsPerRequest = 100

/** Seconds that a request is held: below the usual limit of proxies, 30 s. */
const waitSeconds = 25

/** Requests behind a proxy that gives up sooner are held no shorter. */
const minWaitSeconds = 2

/** How much later a response may come before the connection is given up. */
const graceMs = 5_000

/** Minimum time between two requests, whatever the responses are. */
const minIntervalMs = 100

/** How long a project that cannot be read is left out of the requests. */
const problemPauseMs = 5_000

/** A larger response is rejected, and one with more values: 60 MB of brackets would take 3 GB. */
const maxResponseBytes = 64 * 1024 * 1024
const maxResponseValues = 1_000_000

/** Characters of a problem that are shown. */
const maxProblemLength = 500

export interface SourceOptions {
  /** Base URL of the server. */
  url: string
  projects: readonly string[]
  clock: Clock
  signal: AbortSignal
  /** The documents of a project have changed, or arrived for the first time. */
  onChange(keys: PublishedKeys): void
  /** The server has confirmed what is known of these projects, as it was `ageMs` ago. */
  onContact(projects: readonly string[], ageMs: number): void
  /** These projects cannot be read at the moment. */
  onLost(projects: readonly string[], message: string): void
}

export interface Source {
  /** Resolves at the end, after the signal was aborted. */
  ended: Promise<void>
  /** Asks for all documents again at once, without waiting for a change. */
  refresh(): void
}

/** Follows the projects, up to 100 on each connection, and retries until the signal is aborted. */
export function followProjects(options: SourceOptions): Source {
  const batches: ReturnType<typeof createBatch>[] = []
  for (let start = 0; start < options.projects.length; start += projectsPerRequest) {
    const projects = options.projects.slice(start, start + projectsPerRequest)
    batches.push(createBatch({ ...options, projects }))
  }
  return {
    ended: Promise.all(batches.map((batch) => batch.run())).then(() => undefined),
    refresh() {
      for (const batch of batches) batch.refresh()
    },
  }
}

/** Asks once for the documents of all projects. Throws `RequestError`. */
export async function readProjects(
  options: Pick<SourceOptions, 'url' | 'projects' | 'signal'>,
): Promise<{ keys: PublishedKeys[]; problems: string[] }> {
  const keys: PublishedKeys[] = []
  const problems: string[] = []
  for (let start = 0; start < options.projects.length; start += projectsPerRequest) {
    const projects = options.projects.slice(start, start + projectsPerRequest)
    const asked = projects.map((project) => ({ project }))
    const response = await request(options, asked, 0).catch((error: unknown) => {
      throw toRequestError(error)
    })
    keys.push(...response.keys)
    problems.push(...response.problems.map(({ message }) => message))
  }
  return { keys, problems }
}

/** The projects of one connection. One closure, because all of it depends on the known tags. */
function createBatch(options: SourceOptions) {
  const { projects, clock, signal } = options
  const tags = new Map<string, string>()
  const pausedUntil = new Map<string, number>()
  /** Whether the last request succeeded; otherwise the next one must be answered at once. */
  let isConfirmed = false
  let maxWait = waitSeconds
  let pending = new AbortController()

  function wanted(): { project: string; etag?: string }[] {
    const time = clock.monotonic()
    return projects
      .filter((project) => (pausedUntil.get(project) ?? 0) <= time)
      .map((project) => {
        const etag = tags.get(project)
        return etag === undefined ? { project } : { project, etag }
      })
  }
  async function poll(): Promise<void> {
    const asked = wanted()
    if (asked.length === 0) return sleep(problemPauseMs, pending.signal)
    const pause = pausedUntil.size === 0 ? waitSeconds : problemPauseMs / 1_000
    const wait = isConfirmed ? Math.min(pause, maxWait) : 0
    const aborted = AbortSignal.any([signal, pending.signal])
    const { keys, problems, ageMs } = await request({ ...options, signal: aborted }, asked, wait)
    isConfirmed = true
    for (const change of keys) {
      tags.set(change.project, change.etag)
      pausedUntil.delete(change.project)
      options.onChange(change)
    }
    for (const { project, message } of problems) {
      options.onLost([project], message)
      pausedUntil.set(project, clock.monotonic() + problemPauseMs)
    }
    const unread = new Set(problems.map(({ project }) => project))
    options.onContact(
      asked.map(({ project }) => project).filter((project) => !unread.has(project)),
      ageMs,
    )
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
          if (signal.aborted || pending.signal.aborted) continue
          const { message, retryAfter, status } = toRequestError(error)
          if (status === 504 && isConfirmed && maxWait > minWaitSeconds) {
            // A proxy has given up on the held request, not on the server.
            maxWait = Math.max(minWaitSeconds, Math.floor(maxWait / 2))
            continue
          }
          isConfirmed = false
          options.onLost(projects, message)
          await sleep(retryDelayMs(failures, retryAfter), AbortSignal.any([signal, pending.signal]))
          failures += 1
        }
      }
    },
    refresh(): void {
      tags.clear()
      pausedUntil.clear()
      isConfirmed = false
      pending.abort()
    },
  }
}

interface Answer {
  keys: PublishedKeys[]
  problems: { project: string; message: string }[]
  ageMs: number
}

class RequestError extends Error {
  readonly status: number | undefined
  readonly retryAfter: number

  constructor(message: string, status?: number, retryAfter = 0) {
    super(message)
    this.status = status
    this.retryAfter = retryAfter
  }
}

/** `POST /v1/key-set-changes`. Throws `RequestError`. */
async function request(
  { url, signal }: Pick<SourceOptions, 'url' | 'signal'>,
  projects: { project: string; etag?: string }[],
  wait: number,
): Promise<Answer> {
  const response = await fetch(`${url}/v1/key-set-changes`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', prefer: `wait=${wait}` },
    body: JSON.stringify({ projects }),
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(wait * 1_000 + graceMs)]),
  })
  const text = await readText(response, url)
  if (response.status !== 200) {
    const { status, headers } = response
    const retryAfter = Math.min(30, retryAfterSeconds(headers) ?? 0)
    throw new RequestError(`${url} responds with status ${status}.`, status, retryAfter)
  }
  const age = Number(/^\d+$/.exec(response.headers.get('age') ?? '')?.[0] ?? 0)
  return { ...parseAnswer(text, url, projects), ageMs: age * 1_000 }
}

async function readText(response: Response, url: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > maxResponseBytes) throw noKeySets(url)
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  if (holdsMoreValues(bytes, maxResponseValues)) throw noKeySets(url)
  return bytes.toString('utf8')
}

/**
 * Entries of projects that were not asked for are ignored. Throws `RequestError`, also if a project
 * is missing of which nothing is known yet.
 */
function parseAnswer(text: string, url: string, projects: { project: string; etag?: string }[]) {
  const names = new Set(projects.map(({ project }) => project))
  const unknown = new Set(projects.flatMap(({ project, etag }) => (etag ? [] : [project])))
  const answer: Pick<Answer, 'keys' | 'problems'> = { keys: [], problems: [] }
  const entries = parseJson(text)
  if (!Array.isArray(entries)) throw noKeySets(url)
  for (const entry of entries) {
    if (!isObject(entry) || !names.has(String(entry.project))) continue
    const project = String(entry.project)
    unknown.delete(project)
    if (isObject(entry.problem)) {
      const detail = String(entry.problem.detail).slice(0, maxProblemLength)
      answer.problems.push({ project, message: `Project ${project}: ${detail}` })
    } else {
      const keys = parsePublishedKeys(entry)
      if (keys === undefined) throw noKeySets(url)
      answer.keys.push(keys)
    }
  }
  if (unknown.size > 0) throw noKeySets(url)
  return answer
}

function noKeySets(url: string): RequestError {
  return new RequestError(
    `The response of ${url} is not a list of key sets. Check that it is the address of your Pubring server, of a release that has POST /v1/key-set-changes.`,
  )
}

function toRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new RequestError(`The server cannot be reached: ${reason}.`)
}

/** Ends early, without an error, when the signal is aborted. */
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined)
}
