import type { Kernel } from '../../kernel/kernel.ts'
import { oneFor } from '../../kernel/shared.ts'
import { isoTime } from '../../kernel/values/times.ts'
import type { Verifiers } from './contract.ts'
import { type PublishedProject, publisherOf } from './publisher.ts'

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
 * Who has requested the key sets from this process, by user agent. When there are too many, all that is known
 * is dropped: verifiers that still ask are known again within a minute, and `since` says from when on.
 */
export const keySetReadersOf = oneFor(({ clock }: Kernel) => {
  const projects = new Map<string, Readers>()
  let count = 0
  const start = clock.now()

  function drop(projectId: string, { byUserAgent }: Readers): Readers {
    count -= byUserAgent.size
    const readers = { since: clock.now(), byUserAgent: new Map<string, Reader>() }
    projects.set(projectId, readers)
    return readers
  }
  function add({ projectId, fullJwks: { etag } }: PublishedProject, userAgent: string): Reader {
    if (count >= maxOfAll) for (const [id, readers] of projects) drop(id, readers)
    const known = projects.get(projectId) ?? { since: start, byUserAgent: new Map() }
    const isFull = known.byUserAgent.size >= maxOfProject
    const { byUserAgent } = isFull ? drop(projectId, known) : known
    if (!isFull) projects.set(projectId, known)
    const reader = { time: clock.now(), etag, held: 0 }
    byUserAgent.set(userAgent, reader)
    count += 1
    return reader
  }
  /** The user agent has these documents of the project now. */
  function note(published: PublishedProject, header = ''): Reader {
    const userAgent = header.length > maxLength ? header.slice(0, maxLength) : header
    const known = projects.get(published.projectId)?.byUserAgent.get(userAgent)
    if (known === undefined) return add(published, userAgent)
    known.time = clock.now()
    known.etag = published.fullJwks.etag
    return known
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
    of(projectId: string): Readers {
      return projects.get(projectId) ?? { since: start, byUserAgent: new Map() }
    },
  }
})

/** The user agents, the last requests first. */
export async function listVerifiers(kernel: Kernel, projectId: string): Promise<Verifiers> {
  const { fullJwks } = await publisherOf(kernel).published(projectId)
  const { since, byUserAgent } = keySetReadersOf(kernel).of(projectId)
  const verifiers = [...byUserAgent].map(([userAgent, { time, etag, held }]) => ({
    userAgent,
    time: isoTime(time),
    hasCurrentSet: etag === fullJwks.etag,
    held,
  }))
  return {
    since: isoTime(since),
    verifiers: verifiers.sort((one, other) => (one.time < other.time ? 1 : -1)),
  }
}
