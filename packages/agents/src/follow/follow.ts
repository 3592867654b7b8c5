import type { LogOptions } from '@pubring/client/internal/key-set/options'
import type { Clock } from '@pubring/server/runtime/clock'
import { formatCount } from '@pubring/server/runtime/text'
import { AgentError } from '../error.ts'
import { createHook, maxProjects, runCommand } from '../hook.ts'
import { startLoop, withoutRepeats } from '../loop.ts'
import { ageMsOf, type Followed, newFollowed, shownOf } from './followed.ts'
import { createHeartbeat } from './heartbeat.ts'
import { serveKeySets } from './listen.ts'
import type { PublishedKeys } from './published-keys.ts'
import { followProjects, readProjects } from './source.ts'
import { createStateKeeper, restoreState, type SideFile, saveState } from './state.ts'
import { type OutputOptions, writeFiles } from './write-files.ts'

/** Pause between two attempts to write the files, and between two looks at the clocks. */
const tickMs = 1_000

/** Pause between two requests that find out whether a clock was set or the server is gone. */
const refreshPauseMs = 10_000

/** The projects to follow, and the actions after a change. */
export interface FollowOptions {
  /** Base URL of the server. */
  url: string
  projects: readonly string[]
  output: OutputOptions | undefined
  exec: string | undefined
  /** `--out`, or an empty text. */
  out: string
  /** Limit for a run of `exec`. */
  timeoutMs: number
  listenAt: { host: string; port: number } | undefined
  onStale: 'keep' | 'empty'
  staleAfterMs: number
  /** Where the ids and key sets of the projects are kept across restarts. */
  stateFile: SideFile | undefined
  /** Beside the keys: when the files were last in order. The time goes on while the server is away. */
  heartbeatFile: SideFile | undefined
  /** Histories that the server may be set back to, as `REVISION.HASH8`. */
  acceptedHistory: readonly string[]
  /** The log without whose proof no key is taken over. */
  log: LogOptions | undefined
}

export interface FollowContext {
  clock: Clock
  signal: AbortSignal
  /** Registers what SIGHUP does. */
  onReload(reload: () => void): void
  report(message: string): void
}

/** Fetches, writes and runs `--exec` once. Rejects unless all of it succeeds. */
export async function followOnce(
  options: FollowOptions,
  { clock, signal, report }: FollowContext,
): Promise<void> {
  const { projects, output, exec, stateFile, log } = options
  const followed = projects.map(newFollowed)
  if (stateFile !== undefined) await restoreState(stateFile, followed, { clock, log })
  await readProjects(followed, { ...options, clock, signal, report })
  const keys = followed.flatMap((one) => one.keys ?? [])
  if (output !== undefined) await writeFiles(output, keys)
  report(summaryOf(keys))
  if (stateFile !== undefined) await saveState(stateFile, followed, log)
  for (let from = 0; exec && from < projects.length; from += maxProjects) {
    const variables = variablesOf(options, projects.slice(from, from + maxProjects))
    const failure = await runCommand({ ...options, command: exec }, variables)
    if (failure) throw new AgentError('error', `--exec ${failure}.`)
  }
}

/** Follows the projects until the signal is aborted. Reports problems, and retries. */
export async function followUntilAborted(
  options: FollowOptions,
  context: FollowContext,
): Promise<void> {
  const { onStale, listenAt, stateFile, heartbeatFile, log } = options
  const { clock, signal } = context
  const report = withoutRepeats(context.report, clock)
  const followed = options.projects.map(newFollowed)
  if (stateFile !== undefined) await restoreState(stateFile, followed, { clock, log })
  const listener = listenAt && (await serveKeySets(listenAt, { followed, clock, onStale }))
  if (listener !== undefined) report(`Serving the key sets at ${listener.url}.`)
  let wake = () => {}
  const source = followProjects({
    ...options,
    followed,
    clock,
    signal,
    report,
    onChange: () => wake(),
  })
  context.onReload(source.refresh)
  const deliver = createDelivery(options, { signal, report, onWritten: context.report })
  const keepState = stateFile && createStateKeeper(stateFile, followed, { clock, log, report })
  const beat = heartbeatFile && createHeartbeat(heartbeatFile, { clock, report })
  let refreshedAt = clock.monotonic()
  const loop = startLoop(
    async () => {
      const isOverdue = updateStale(followed, clock, options)
      if (isOverdue && clock.monotonic() - refreshedAt > refreshPauseMs) {
        refreshedAt = clock.monotonic()
        source.refresh()
      }
      if (await deliver(followed)) await beat?.()
      await keepState?.()
      return tickMs
    },
    { signal },
  )
  wake = loop.wake
  await loop.ended
  listener?.close()
  await source.ended
}

/**
 * Notes which projects are stale now. Returns whether another one was not confirmed for too long,
 * although it was not lost: a clock may have been set.
 */
function updateStale(
  followed: readonly Followed[],
  clock: Clock,
  { staleAfterMs, onStale }: FollowOptions,
): boolean {
  let isOverdue = false
  for (const one of followed) {
    const isOld = one.keys !== undefined && ageMsOf(one, clock) > staleAfterMs
    const isStale = isOld && one.isLost
    if (isStale !== one.isStale && onStale === 'empty') one.hasChanged = true
    one.isStale = isStale
    isOverdue ||= isOld && !isStale
  }
  return isOverdue
}

/**
 * A function that writes the files and runs `--exec` after changes, and returns whether the files are as
 * they should be. What fails is done again with the next call.
 */
function createDelivery(
  options: FollowOptions,
  {
    signal,
    report,
    onWritten,
  }: Pick<FollowContext, 'signal' | 'report'> & { onWritten(summary: string): void },
) {
  const { output, exec, onStale } = options
  const run =
    exec &&
    createHook({
      ...options,
      command: exec,
      environment: (projects) => variablesOf(options, projects),
      signal,
      onProblem: report,
    })
  // At the start too: an earlier follower may have ended before it ran the command.
  let isRunDue = true
  return async (followed: readonly Followed[]): Promise<boolean> => {
    const changed = followed.filter(({ hasChanged }) => hasChanged)
    if (changed.length === 0) return true
    for (const one of changed) one.hasChanged = false
    const sets = followed.flatMap((one) => shownOf(one, onStale) ?? [])
    try {
      const hasChanged = output === undefined || (await writeFiles(output, sets))
      if (hasChanged) onWritten(summaryOf(sets))
      if (run && (hasChanged || isRunDue)) run(changed.map(({ project }) => project))
      isRunDue = false
      return true
    } catch (error) {
      // Some of the files may be new.
      isRunDue = true
      for (const one of changed) one.hasChanged = true
      report(`The keys cannot be written: ${error instanceof Error ? error.message : error}.`)
      return false
    }
  }
}

/** `JWKS_PROJECTS`: the changed projects, separated by blanks. */
function variablesOf({ out }: FollowOptions, projects: readonly string[]): Record<string, string> {
  return { JWKS_PROJECTS: projects.join(' '), JWKS_OUT: out }
}

function summaryOf(sets: readonly PublishedKeys[]): string {
  const count = sets.reduce((sum, { fullJwks }) => sum + fullJwks.length, 0)
  return `Wrote ${formatCount(count, 'key')} of ${formatCount(sets.length, 'project')}.`
}
