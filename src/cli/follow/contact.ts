import type { Clock } from '../../core/context.ts'

/** When the server last confirmed what is known of each project. */
export interface Contact {
  confirm(projects: readonly string[], ageMs: number): void
  /** The projects cannot be read: from now on silence does not mean that nothing changes. */
  lose(projects: readonly string[]): void
  /** Seconds since the last contact; 0 while the project is followed. */
  ageSeconds(project: string): number
  /** Whether the project cannot be read, and was not confirmed for longer than the limit. */
  isStale(project: string): boolean
  /** Whether it was not confirmed for longer than the limit, perhaps because a clock was set. */
  isOverdue(project: string): boolean
}

/**
 * The time since the last contact is the greater one by two clocks: the monotonic one stands still
 * while a machine sleeps.
 */
export function createContact(clock: Clock, limitMs: number): Contact {
  const contacts = new Map<string, { monotonic: number; wall: number }>()
  const lost = new Set<string>()
  const ageMs = (project: string) => {
    const last = contacts.get(project)
    if (last === undefined) return Number.POSITIVE_INFINITY
    return Math.max(clock.monotonic() - last.monotonic, clock.now() - last.wall)
  }
  return {
    confirm(projects, age) {
      const time = { monotonic: clock.monotonic() - age, wall: clock.now() - age }
      for (const project of projects) {
        contacts.set(project, time)
        if (age === 0) lost.delete(project)
        else lost.add(project)
      }
    },
    lose(projects) {
      for (const project of projects) lost.add(project)
    },
    ageSeconds: (project) => (lost.has(project) ? Math.floor(ageMs(project) / 1_000) : 0),
    isStale: (project) => lost.has(project) && ageMs(project) > limitMs,
    isOverdue: (project) => ageMs(project) > limitMs,
  }
}
