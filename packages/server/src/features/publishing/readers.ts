import type { Kernel } from '../../kernel/kernel.ts'
import { oneFor } from '../../kernel/shared.ts'
import type { PublishedProject } from './publisher.ts'

/** User agents that are remembered of a project, and of all projects: 20 MB at most. */
const maxOfProject = 1_000
const maxOfAll = 50_000

/** Milliseconds in which further requests for the same keys are not noted, to spare those of a busy verifier. */
const precisionMs = 1_000

/** Characters of a user agent. */
const maxLength = 200

/** The last request of a user agent. */
interface Reader {
  /** Epoch milliseconds. */
  time: number
  /** Tag of the full key set, which has all keys. */
  etag: string
  /** Requests that are held. */
  held: number
}

/** A follower, which names itself in its user agent. */
interface Follower {
  name: string
  /** Epoch milliseconds of its last request. */
  time: number
  /** How many projects it has asked for. */
  projects: number
}

type Published = Pick<PublishedProject, 'projectId' | 'fullJwks'>

/** All readers of a project since the time (epoch milliseconds), the last requests last. */
interface Readers {
  projectId: string
  since: number
  byUserAgent: Map<string, Reader>
}

/**
 * Who has requested the key sets from this process, by user agent. When there are too many, a new one drops
 * the one that asked longest ago, of its project or of the project with the most.
 */
export const keySetReadersOf = oneFor(({ clock }: Pick<Kernel, 'clock'>) => {
  /** All readers since this time are known, of each project that is not among these. */
  let since = clock.now()
  const projects = new Map<string, Readers>()
  /** The same projects by their number of user agents, less one. */
  const bySize = Array.from({ length: maxOfProject }, () => new Set<Readers>())
  let count = 0
  const readersOf = (projectId: string): Readers =>
    projects.get(projectId) ?? { projectId, since, byUserAgent: new Map() }
  /** Makes the user agent the last of its project; without a reader forgets it. */
  function put(readers: Readers, userAgent: string, reader?: Reader): void {
    const { projectId, byUserAgent } = readers
    bySize[byUserAgent.size - 1]?.delete(readers)
    count -= byUserAgent.size
    byUserAgent.delete(userAgent)
    if (reader !== undefined) byUserAgent.set(userAgent, reader)
    count += byUserAgent.size
    bySize[byUserAgent.size - 1]?.add(readers)
    if (byUserAgent.size > 0) projects.set(projectId, readers)
    else projects.delete(projectId)
  }
  function dropOldest(readers: Readers): void {
    for (const [userAgent, { time }] of readers.byUserAgent.entries().take(1)) {
      put(readers, userAgent)
      readers.since = time
      if (readers.byUserAgent.size === 0) since = Math.max(since, time)
    }
  }
  /** The user agent has these documents of the project now. */
  function note({ projectId, fullJwks: { etag } }: Published, header = ''): Reader {
    const userAgent = header.slice(0, maxLength)
    const readers = readersOf(projectId)
    const { byUserAgent } = readers
    const known = byUserAgent.get(userAgent)
    const time = clock.now()
    if (known?.etag === etag && Math.abs(time - known.time) < precisionMs) return known
    const reader = Object.assign(known ?? { held: 0 }, { time, etag })
    const isLargest = byUserAgent.size === maxOfProject
    if (known === undefined && (isLargest || count === maxOfAll)) {
      const [largest = readers] = bySize.findLast((some) => some.size > 0) ?? []
      dropOldest(isLargest ? readers : largest)
    }
    put(readers, userAgent, reader)
    return reader
  }
  return {
    note,
    /** Counts a held request until the returned function is called. */
    hold(published: Published, header: string | undefined): () => void {
      const reader = note(published, header)
      reader.held += 1
      return () => {
        reader.held -= 1
      }
    },
    of: readersOf,
    /** In the order of their last requests, the last one first. */
    followers(): Follower[] {
      const found = new Map<string, Follower>()
      for (const { byUserAgent } of projects.values()) {
        for (const [userAgent, { time }] of byUserAgent) {
          const [, name] = /^pubring-follow \(([^)]*)/.exec(userAgent) ?? []
          if (name === undefined) continue
          const known = found.get(name) ?? { name, time, projects: 0 }
          const last = Math.max(known.time, time)
          found.set(name, { name, time: last, projects: known.projects + 1 })
        }
      }
      return [...found.values()].sort((one, other) => other.time - one.time)
    },
  }
})
