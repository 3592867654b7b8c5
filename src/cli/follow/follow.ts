import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../core/context.ts'
import { CommandError } from '../terminal/failures.ts'
import { formatCount } from '../terminal/output.ts'
import { type Contact, createContact } from './contact.ts'
import { createHook, runCommand } from './hook.ts'
import { type Listener, listen } from './listen.ts'
import type { FollowOptions } from './options.ts'
import { emptied, type PublishedKeys } from './published-keys.ts'
import { followProjects, readProjects } from './source.ts'
import { createFileWriter, type FileWriter } from './write-files.ts'

/** Pause between two attempts to write the files, and between two looks at the clocks. */
const tickMs = 1_000

/** Pause between two requests that find out whether a clock was set or the server is gone. */
const refreshPauseMs = 10_000

/** A message is not repeated for this time. */
const repeatAfterMs = 60_000

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
  { signal, report }: FollowContext,
): Promise<void> {
  const { keys, problems } = await readProjects({ ...options, signal }).catch((error: Error) => {
    throw new CommandError('unavailable', error.message)
  })
  const [problem] = problems
  if (problem !== undefined) throw new CommandError('not_found', problem)
  await fileWriter(options)?.write(keys)
  report(summaryOf(keys))
  if (options.exec === undefined) return
  const failure = await runCommand({ ...options, command: options.exec }, options.projects)
  if (failure !== undefined) throw new CommandError('failed', `--exec ${failure}.`)
}

/** Follows the projects until the signal is aborted. Reports problems, and retries. */
export async function followUntilAborted(
  options: FollowOptions,
  context: FollowContext,
): Promise<void> {
  const { clock, signal } = context
  const report = withoutRepeats(context.report, clock)
  const contact = createContact(clock, options.staleAfterMs)
  const sets = createSets(options, contact)
  const listener = await openListener(options, sets)
  if (listener !== undefined) report(`Serving the key sets at ${listener.url}.`)
  const source = followProjects({
    ...options,
    clock,
    signal,
    onChange: sets.receive,
    onContact: contact.confirm,
    onLost(projects, message) {
      contact.lose(projects)
      report(message)
    },
  })
  context.onReload(source.refresh)
  const deliver = createDelivery(options, { signal, report })
  let refreshedAt = clock.monotonic()
  while (!signal.aborted) {
    if (sets.isOverdue() && clock.monotonic() - refreshedAt > refreshPauseMs) {
      refreshedAt = clock.monotonic()
      source.refresh()
    }
    await deliver(sets.takeChanged(), sets.all())
    await sets.changeWithin(tickMs, signal)
  }
  await Promise.all([source.ended, listener?.close()])
}

/** The key sets received so far, as they are shown: `--on-stale` may empty them. */
function createSets(options: FollowOptions, contact: Contact) {
  const received = new Map<string, PublishedKeys>()
  const stale = new Set<string>()
  const changed = new Set<string>()
  let wake = new AbortController()

  function updateStale(): void {
    for (const project of received.keys()) {
      if (contact.isStale(project) === stale.has(project)) continue
      if (!stale.delete(project)) stale.add(project)
      if (options.onStale === 'empty') changed.add(project)
    }
  }
  function shown(keys: PublishedKeys): PublishedKeys {
    return options.onStale === 'empty' && stale.has(keys.project) ? emptied(keys) : keys
  }
  return {
    receive(keys: PublishedKeys): void {
      changed.add(keys.project)
      received.set(keys.project, keys)
      wake.abort()
    },
    all: () => [...received.values()].map(shown),
    find(nameOrId: string) {
      const keys =
        received.get(nameOrId) ?? received.values().find(({ projectId }) => projectId === nameOrId)
      if (keys === undefined) {
        return options.projects.includes(nameOrId) ? ('not loaded' as const) : undefined
      }
      return { keys: shown(keys), ageSeconds: contact.ageSeconds(keys.project) }
    },
    takeChanged(): string[] {
      updateStale()
      const projects = [...changed]
      changed.clear()
      return projects
    },
    isOverdue: () =>
      received.keys().some((project) => contact.isOverdue(project) && !contact.isStale(project)),
    /** Why the key sets should not be relied on. */
    problem(): string | undefined {
      const missing = options.projects.filter((project) => !received.has(project))
      if (missing.length > 0) return `not received yet: ${missing.join(', ')}`
      return stale.size > 0 ? `no contact for too long: ${[...stale].join(', ')}` : undefined
    },
    async changeWithin(ms: number, signal: AbortSignal): Promise<void> {
      const either = AbortSignal.any([signal, wake.signal])
      await delay(ms, undefined, { signal: either }).catch(() => undefined)
      wake = new AbortController()
    },
  }
}

/** Writes the files and runs `--exec` after changes; what fails is done again with the next call. */
function createDelivery(
  options: FollowOptions,
  { signal, report }: Pick<FollowContext, 'signal' | 'report'>,
) {
  const writer = fileWriter(options)
  const hook =
    options.exec === undefined
      ? undefined
      : createHook({ ...options, command: options.exec, signal, onProblem: report })
  const undelivered = new Set<string>()
  let isFirst = true
  return async (changed: readonly string[], sets: readonly PublishedKeys[]): Promise<void> => {
    for (const project of changed) undelivered.add(project)
    if (undelivered.size === 0) return
    try {
      const hasChanged = writer === undefined || (await writer.write(sets))
      if (hasChanged) report(summaryOf(sets))
      // At the start too: an earlier follower may have ended before it ran the command.
      if (hasChanged || isFirst) hook?.run(undelivered)
      undelivered.clear()
      isFirst = false
    } catch (error) {
      report(`The keys cannot be written: ${error instanceof Error ? error.message : error}.`)
    }
  }
}

function fileWriter(options: FollowOptions): FileWriter | undefined {
  const { output } = options
  return output === undefined ? undefined : createFileWriter(output)
}

async function openListener(
  { listenAt }: FollowOptions,
  sets: ReturnType<typeof createSets>,
): Promise<Listener | undefined> {
  if (listenAt === undefined) return undefined
  try {
    return await listen({ ...listenAt, find: sets.find, unhealthy: sets.problem })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError('usage', `--listen cannot be used: ${reason}.`)
  }
}

function summaryOf(sets: readonly PublishedKeys[]): string {
  const count = sets.reduce((sum, { fullJwks }) => sum + fullJwks.length, 0)
  return `Wrote ${formatCount(count, 'key')} of ${formatCount(sets.length, 'project')}.`
}

function withoutRepeats(report: (message: string) => void, clock: Clock) {
  const reportedAt = new Map<string, number>()
  return (message: string): void => {
    const time = clock.monotonic()
    for (const [text, at] of reportedAt) if (time - at > repeatAfterMs) reportedAt.delete(text)
    if (reportedAt.has(message)) return
    reportedAt.set(message, time)
    report(message)
  }
}
