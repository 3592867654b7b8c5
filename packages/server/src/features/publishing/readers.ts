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

interface Readers {
  projectId: string
  since: number
  byUserAgent: Map<string, Reader>
}

/**
 * Who has requested the key sets from this process, by user agent, the last requests last. When there are too
 * many, a new one drops the one that asked longest ago, of its project or of the project with the most.
 */
export const keySetReadersOf = oneFor(({ clock }: Pick<Kernel, 'clock'>) => {
  const projects = new Map<string, Readers>()
  /** The same by their number of user agents, so that the project with the most is found without a search. */
  const bySize = Array.from({ length: maxOfProject + 1 }, () => new Set<Readers>())
  let most = 0
  let count = 0
  /** All readers since this time are known, of each project that is not among these. */
  let since = clock.now()

  function add(readers: Readers, userAgent: string, reader: Reader): void {
    const { projectId, byUserAgent } = readers
    projects.set(projectId, readers)
    bySize[byUserAgent.size]?.delete(readers)
    byUserAgent.set(userAgent, reader)
    bySize[byUserAgent.size]?.add(readers)
    most = Math.max(most, byUserAgent.size)
    count += 1
  }
  function dropOldest(readers: Readers): void {
    const { projectId, byUserAgent } = readers
    for (const [userAgent, { time }] of byUserAgent.entries().take(1)) {
      readers.since = time
      bySize[byUserAgent.size]?.delete(readers)
      byUserAgent.delete(userAgent)
    }
    if (byUserAgent.size > 0) bySize[byUserAgent.size]?.add(readers)
    else {
      projects.delete(projectId)
      since = Math.max(since, readers.since)
    }
    while (bySize[most]?.size === 0) most -= 1
    count -= 1
  }
  function makeRoom(readers: Readers): void {
    const [largest] = bySize[most] ?? []
    if (readers.byUserAgent.size >= maxOfProject) dropOldest(readers)
    else if (count >= maxOfAll && largest !== undefined) dropOldest(largest)
  }
  function readersOf(projectId: string): Readers {
    return projects.get(projectId) ?? { projectId, since, byUserAgent: new Map() }
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
    if (known === undefined) {
      makeRoom(readers)
      add(readers, userAgent, reader)
    } else {
      // The last requests stand last.
      byUserAgent.delete(userAgent)
      byUserAgent.set(userAgent, reader)
    }
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
