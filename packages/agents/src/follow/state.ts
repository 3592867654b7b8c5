import { basename, dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { formatHead, parseHead } from '@pubring/client/internal/key-set/head'
import type { LogOptions } from '@pubring/client/internal/key-set/options'
import type { Clock } from '@pubring/server/runtime/clock'
import { isObject, parseJson } from '@pubring/server/runtime/json'
import { AgentError } from '../error.ts'
import { inFolder } from '../folder.ts'
import { type Followed, instantBefore } from './followed.ts'
import { type PublishedKeys, parseKeys } from './published-keys.ts'

/** A file beside the keys. Links on the way to the folder `root` are followed, and no others. */
export interface SideFile {
  root: string
  path: string
}

/** The log whose proof the keys of this run need. */
type Log = LogOptions | undefined

/** The state tells when the server was last seen, so it is written this often without a change. */
const rewriteAfterMs = 60_000

/**
 * Restores what the last run knew of the projects: which id a name stands for, and the key set. With
 * `log`, a key set that was not kept with the proof of this log is not shown until it has proven one.
 * Throws `AgentError` if the file cannot be read or is something else.
 */
export async function restoreState(
  { root, path }: SideFile,
  followed: readonly Followed[],
  { clock, log }: { clock: Clock; log: Log },
): Promise<void> {
  const text = await inFolder(root, dirname(path), (folder) => folder.read(basename(path))).catch(
    (error) => {
      throw unreadable(path, error)
    },
  )
  if (text === undefined) return
  const projects = parseJson(text)
  if (!isObject(projects)) throw notAState(path)
  for (const one of followed) {
    if (!Object.hasOwn(projects, one.project)) continue
    const stored = projects[one.project]
    const keys = parseStored(one.project, stored)
    const time = isObject(stored) ? Date.parse(String(stored.confirmedTime)) : Number.NaN
    if (keys === undefined || Number.isNaN(time)) throw notAState(path)
    one.isUnproven = log !== undefined && !(isObject(stored) && isDeepStrictEqual(stored.log, log))
    // Without an entity tag, the response has all keys, and none of the state is compared with the log.
    one.keys = one.isUnproven ? { ...keys, etag: undefined } : keys
    one.confirmedAt = instantBefore(clock, Math.max(0, clock.now() - time))
    one.isLost = true
    one.hasChanged = !one.isUnproven
  }
}

function notAState(path: string): AgentError {
  return withoutState(`${path} is not the state of a follower`, 'restore or remove it')
}

function unreadable(path: string, error: unknown): AgentError {
  const reason = error instanceof Error ? error.message : error
  return withoutState(
    `The state in ${path} cannot be read (${reason})`,
    'let the follower read it, or remove it',
  )
}

function withoutState(problem: string, advice: string): AgentError {
  return new AgentError(
    'error',
    `${problem}. Without it the follower takes the server's word for which project has a name: ${advice}.`,
  )
}

function parseStored(project: string, stored: unknown): PublishedKeys | undefined {
  if (!isObject(stored)) return undefined
  const { projectId, etag, head, discovery } = stored
  const [jwks, fullJwks] = [parseKeys(stored.jwks), parseKeys(stored.fullJwks)]
  if (jwks === undefined || fullJwks === undefined) return undefined
  if (typeof projectId !== 'string' || !isObject(discovery)) return undefined
  return {
    project,
    projectId,
    etag: typeof etag === 'string' ? etag : undefined,
    head: typeof head === 'string' ? parseHead(head) : undefined,
    jwks,
    fullJwks,
    discovery,
  }
}

export async function saveState(
  { root, path }: SideFile,
  followed: readonly Followed[],
  log: Log,
): Promise<void> {
  const projects = followed.flatMap(({ project, keys, confirmedAt, isUnproven }) => {
    if (keys === undefined) return []
    const { projectId, etag, head, discovery } = keys
    const [jwks, fullJwks] = [keys.jwks, keys.fullJwks].map((set) => ({
      keys: set.map(({ jwk }) => jwk),
    }))
    const confirmedTime = new Date(confirmedAt.wall).toISOString()
    const provenBy = isUnproven ? undefined : log
    const documents = { head: head && formatHead(head), etag, jwks, fullJwks, discovery }
    return [[project, { projectId, confirmedTime, log: provenBy, ...documents }]]
  })
  const text = `${JSON.stringify(Object.fromEntries(projects), null, 2)}\n`
  await inFolder(root, dirname(path), (folder) => folder.replace(basename(path), text))
}

/** A function that saves the state if a key set has changed, or a minute has passed. */
export function createStateKeeper(
  file: SideFile,
  followed: readonly Followed[],
  { clock, log, report }: { clock: Clock; log: Log; report(message: string): void },
): () => Promise<void> {
  let saved: { sets: (PublishedKeys | undefined)[]; at: number } | undefined
  return async () => {
    const sets = followed.map(({ keys }) => keys)
    const at = clock.monotonic()
    const isSaved = saved?.sets.every((keys, index) => keys === sets[index])
    if (isSaved && at - (saved?.at ?? 0) < rewriteAfterMs) return
    try {
      await saveState(file, followed, log)
      saved = { sets, at }
    } catch (error) {
      report(`The state cannot be written: ${error instanceof Error ? error.message : error}.`)
    }
  }
}
