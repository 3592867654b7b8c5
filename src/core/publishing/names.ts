import { LRUCache } from 'lru-cache'
import { projectNamePattern } from '../../contract/names.ts'
import { PubringError } from '../../errors.ts'
import type { Context, ProjectRef } from '../context.ts'
import { createRevalidatedCache } from './revalidated-cache.ts'

/** Names cached per process. */
const maxNames = 10_000

export interface PublishedNames {
  /**
   * The id of the project with this id or name, at most 500 ms plus one read behind the store; the
   * last known one while the store is unavailable. Throws `project_not_found` for an unknown name;
   * ids are not checked.
   */
  resolve(ref: ProjectRef): Promise<string>
  /** Whether `resolve` would return the same id without a read. */
  isCurrent(ref: ProjectRef, projectId: string): boolean
  /** A project was created, renamed or deleted: the name, or all, must be read again. */
  invalidate(name?: string): void
}

export function createPublishedNames({ store, clock }: Context): PublishedNames {
  const ids = createRevalidatedCache<string>({
    clock,
    copies: new LRUCache({ max: maxNames }),
    staleLimitMs: Number.POSITIVE_INFINITY,
    read: async (name) => (await store.findProject({ name }))?.id,
  })
  return {
    async resolve(ref) {
      if ('id' in ref) return ref.id
      const id = projectNamePattern.test(ref.name) ? await ids.get(ref.name) : undefined
      if (id === undefined) throw notPublished()
      return id
    },
    isCurrent: (ref, projectId) => projectId === ('id' in ref ? ref.id : ids.getFresh(ref.name)),
    invalidate: ids.invalidate,
  }
}

export function notPublished(): PubringError {
  return new PubringError('project_not_found', 'There is no project with this id or name.')
}
