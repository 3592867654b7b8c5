import type { Kernel } from '../../kernel/kernel.ts'
import { oneFor } from '../../kernel/shared.ts'
import type { PublishedProject } from './publisher.ts'

/** User agents that are remembered of a project, and of all projects: 20 MB at most. */
const maxOfProject = 1_000
const maxOfAll = 50_000

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

interface Readers {
  since: number
  byUserAgent: Map<string, Reader>
}

/**
 * Who has requested the key sets from this process, by user agent, the last requests last. When there are too
 * many, a new one drops the one that asked longest ago, of its project or of the project with the most.
 */
export const keySetReadersOf = oneFor(({ clock }: Kernel) => {
  const projects = new Map<string, Readers>()
  let count = 0
  const start = clock.now()
  const sizeOf = ({ byUserAgent }: Readers) => byUserAgent.size
  const readersOf = (projectId: string): Readers =>
    projects.get(projectId) ?? { since: start, byUserAgent: new Map() }

  function makeRoom(readers: Readers): void {
    const isFull = sizeOf(readers) >= maxOfProject
    if (!isFull && count < maxOfAll) {
      count += 1
      return
    }
    const largest = () =>
      [...projects.values()].reduce((one, other) => (sizeOf(other) > sizeOf(one) ? other : one))
    const full = isFull ? readers : largest()
    const [oldest] = full.byUserAgent
    if (oldest === undefined) return
    const [userAgent, { time }] = oldest
    full.since = time
    full.byUserAgent.delete(userAgent)
  }
  /** The user agent has these documents of the project now. */
  function note({ projectId, fullJwks: { etag } }: PublishedProject, header = ''): Reader {
    const userAgent = header.slice(0, maxLength)
    const readers = readersOf(projectId)
    const { byUserAgent } = readers
    const reader = Object.assign(byUserAgent.get(userAgent) ?? { held: 0 }, {
      time: clock.now(),
      etag,
    })
    if (!byUserAgent.delete(userAgent)) makeRoom(readers)
    byUserAgent.set(userAgent, reader)
    projects.set(projectId, readers)
    return reader
  }
  return {
    note,
    /** Counts a held request until the returned function is called. */
    hold(published: PublishedProject, header: string | undefined): () => void {
      const reader = note(published, header)
      reader.held += 1
      return () => {
        reader.held -= 1
      }
    },
    of: readersOf,
  }
})
