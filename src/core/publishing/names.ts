import { LRUCache } from 'lru-cache'
import { createSingleFlight, type Flight } from '../../async/single-flight.ts'
import { projectNamePattern } from '../../contract/names.ts'
import { PubringError } from '../../errors.ts'
import type { Context, ProjectRef } from '../context.ts'
import { isStorageUnavailable, withStorageTimeout } from '../storage-faults.ts'

/** Names that a process keeps; what falls out is read again when it is asked for. */
const maxNames = 10_000

/** Milliseconds that a caller waits for a look where there is a name known to use instead. */
const lookupTimeoutMs = 400

export interface PublishedNames {
  /**
   * The id behind an id or name, at most `recheckInterval` milliseconds and a look-up behind the
   * store; while the store is away, the last one known. Throws `project_not_found` for a name; that
   * an id exists is for the documents to say.
   */
  resolve(ref: ProjectRef): Promise<string>
  /** Whether `resolve` would answer the same, and at once. */
  isCurrent(ref: ProjectRef, projectId: string): boolean
  /** A project of this process was created, renamed or deleted: names are to be looked up again. */
  changed(): void
}

export function createPublishedNames(
  { store, clock }: Context,
  recheckInterval: number,
): PublishedNames {
  const names = new LRUCache<string, { projectId: string; recheckAt: number }>({ max: maxNames })
  const lookups = createSingleFlight<string>()

  async function look(name: string, flight: Flight): Promise<string> {
    const recheckAt = clock.monotonic() + recheckInterval
    const project = await store.findProject({ name })
    if (flight.isSuperseded) return project?.id ?? missing()
    if (project === undefined) {
      names.delete(name)
      return missing()
    }
    names.set(name, { projectId: project.id, recheckAt })
    return project.id
  }

  return {
    async resolve(ref) {
      if ('id' in ref) return ref.id
      if (!projectNamePattern.test(ref.name)) throw publishedNowhere()
      const known = names.get(ref.name)
      if (known !== undefined && clock.monotonic() < known.recheckAt) return known.projectId
      try {
        const found = lookups.run(ref.name, (flight) => look(ref.name, flight))
        return await (known === undefined ? found : withStorageTimeout(found, lookupTimeoutMs))
      } catch (error) {
        if (known === undefined || !isStorageUnavailable(error)) throw error
        known.recheckAt = clock.monotonic() + recheckInterval
        return known.projectId
      }
    },
    isCurrent(ref, projectId) {
      if ('id' in ref) return ref.id === projectId
      const known = names.get(ref.name)
      return known?.projectId === projectId && clock.monotonic() < known.recheckAt
    },
    changed() {
      lookups.supersede()
      for (const known of names.values()) known.recheckAt = Number.NEGATIVE_INFINITY
    },
  }
}

function missing(): never {
  throw publishedNowhere()
}

/** What the public hears of a project that does not exist. */
export function publishedNowhere(): PubringError {
  return new PubringError('project_not_found', 'There is no project with this id or name.')
}
