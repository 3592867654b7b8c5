import { LRUCache } from 'lru-cache'
import { PubringError } from '../../errors.ts'
import type { Context, ProjectRef } from '../../kernel/context.ts'
import { projectNamePattern } from '../../kernel/contract/names.ts'
import { notPublished, type PublishedProject, type Publisher } from './publisher.ts'
import { createRevalidatedCache } from './revalidated-cache.ts'

/** Names cached per process. */
const maxNames = 10_000

type PublishedNames = ReturnType<typeof createPublishedNames>

export function createPublishedNames({ store, clock }: Context) {
  const ids = createRevalidatedCache<string>({
    clock,
    copies: new LRUCache({ max: maxNames }),
    staleLimitMs: Number.POSITIVE_INFINITY,
    read: async (name) => (await store.identifyProject({ name }))?.id,
  })
  return {
    /**
     * The id of the project with this id or name, at most 500 ms plus one read behind the store; the
     * last known one while the store is unavailable. Throws `project_not_found` for an unknown name;
     * ids are not checked.
     */
    async resolve(ref: ProjectRef): Promise<string> {
      if ('id' in ref) return ref.id
      const id = projectNamePattern.test(ref.name) ? await ids.get(ref.name) : undefined
      if (id === undefined) throw notPublished()
      return id
    },
    /** Whether `resolve` would return the same id without a read. */
    isCurrent: (ref: ProjectRef, projectId: string) =>
      projectId === ('id' in ref ? ref.id : ids.getFresh(ref.name)),
    /** A project was created, renamed or deleted: the name, or all, must be read again. */
    invalidate: ids.invalidate,
  }
}

/** Reads what a plain GET of the key set returns. Throws `project_not_found`. */
export type ReadPublished = (ref: ProjectRef) => Promise<PublishedProject>

/**
 * Reads documents by id or name. A project can be renamed or deleted after its name was resolved to an
 * id: if the documents have another name, or there are none, the name is resolved again.
 */
export function createReadPublished(names: PublishedNames, publisher: Publisher): ReadPublished {
  return async (ref) => {
    if ('id' in ref) return publisher.published(ref.id)
    const id = await names.resolve(ref)
    const published = await publisher.published(id).catch(undefinedIfDeleted)
    if (published?.name === ref.name) return published
    names.invalidate(ref.name)
    return publisher.published(await names.resolve(ref))
  }
}

function undefinedIfDeleted(error: unknown): undefined {
  if (!(error instanceof PubringError) || error.code !== 'project_not_found') throw error
}
