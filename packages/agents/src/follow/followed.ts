import type { Clock } from '@pubring/server/runtime/clock'
import { emptied, type PublishedKeys } from './published-keys.ts'

/** A project that is followed, and what is known of it. */
export interface Followed {
  /** Its id or name, as on the command line. */
  readonly project: string
  /** The documents as last received. */
  keys?: PublishedKeys
  /** Whether they are of a state that the log of this run has not proven: they are not shown. */
  isUnproven: boolean
  /** When the server last confirmed the documents. */
  confirmedAt: Instant
  /** Whether it cannot be read: from then on silence does not mean that nothing changes. */
  isLost: boolean
  /** Whether it was lost, and not confirmed for longer than `--stale-after`. */
  isStale: boolean
  /** Whether what is shown of it has still to be written. */
  hasChanged: boolean
  /** Why its name does not lead to it; it is followed by its id then. */
  nameProblem?: string | undefined
  /** The failures that a replica may explain, one after another, since a monotonic time. */
  lag?: { isRefused: boolean; since: number } | undefined
  /** Whether it was still refused after the time by which a replica may be behind another one. */
  isRefused: boolean
  /** How often it was refused. */
  refusals: number
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
    isUnproven: false,
    isLost: false,
    isStale: false,
    hasChanged: false,
    isRefused: false,
    refusals: 0,
  }
}

/** The time `ageMs` ago. */
export function instantBefore(clock: Clock, ageMs: number): Instant {
  return { monotonic: clock.monotonic() - ageMs, wall: clock.now() - ageMs }
}

/** Milliseconds since the server confirmed the documents, by the clock that shows more. */
export function ageMsOf({ confirmedAt: { monotonic, wall } }: Followed, clock: Clock): number {
  return Math.max(clock.monotonic() - monotonic, clock.now() - wall)
}

/** The keys that are written and served: with `--on-stale empty`, none once the project is stale. */
export function shownOf(
  { keys, isStale, isUnproven }: Followed,
  onStale: 'keep' | 'empty',
): PublishedKeys | undefined {
  if (keys !== undefined && isStale && onStale === 'empty') return emptied(keys)
  return isUnproven ? undefined : keys
}

/** Why the key sets should not be relied on; undefined while all is well. */
export function problemOf(followed: readonly Followed[]): string | undefined {
  const problems: [string, (one: Followed) => boolean][] = [
    ['not received yet', ({ keys, isUnproven }) => keys === undefined || isUnproven],
    ['no contact for too long', ({ isStale }) => isStale],
    ['the name has been lost', ({ nameProblem }) => nameProblem !== undefined],
    ['the server has been set back or contradicts the log', ({ isRefused }) => isRefused],
  ]
  const found = problems.flatMap(([problem, has]) => {
    const projects = followed.filter(has).map(({ project }) => project)
    return projects.length === 0 ? [] : [`${problem}: ${projects.join(', ')}`]
  })
  return found.length === 0 ? undefined : found.join('\n')
}
