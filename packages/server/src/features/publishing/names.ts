import { LRUCache } from 'lru-cache'
import { createBatchLoader } from '../../async/single-flight.ts'
import { PubringError } from '../../errors.ts'
import { findProjectsByName } from '../../kernel/access/stored-projects.ts'
import type { ProjectRef } from '../../kernel/context.ts'
import { projectNamePattern } from '../../kernel/contract.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { systemLedgerId } from '../../kernel/ledger/chain.ts'
import { oneFor } from '../../kernel/shared.ts'
import { readEach } from '../../kernel/storage/each.ts'
import { notPublished, type PublishedProject, publisherOf } from './publisher.ts'
import { createRevalidatedCache } from './revalidated-cache.ts'

/** Names cached per process. */
const maxNames = 10_000

/** The ids of the projects that are asked for by name. */
export const publishedNamesOf = oneFor(({ store, clock, onCommit }: Kernel) => {
  const readTogether = createBatchLoader((names) =>
    readEach(names, (some) => findProjectsByName(store.reader, some)),
  )
  const ids = createRevalidatedCache<string>({
    clock,
    copies: new LRUCache({ max: maxNames }),
    staleLimitMs: Number.POSITIVE_INFINITY,
    async read(name, previous) {
      if (previous !== undefined) return (await store.identifyProject({ name }))?.id
      const found = (await readTogether([name])).get(name)
      if (found instanceof Error) throw found
      return found?.id
    },
  })
  onCommit((ledgerId) => {
    if (ledgerId === systemLedgerId) ids.invalidate()
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
    /** The id that `resolve` would return while the store is unavailable. */
    known: (ref: ProjectRef) => ('id' in ref ? ref.id : ids.getUsable(ref.name)),
    /** Whether `resolve` would return the same id without a read. */
    isCurrent: (ref: ProjectRef, projectId: string) =>
      projectId === ('id' in ref ? ref.id : ids.getFresh(ref.name)),
    /** A project was created, renamed or deleted: the name, or all, must be read again. */
    invalidate: ids.invalidate,
  }
})

/**
 * Reads what a plain GET of the key set returns, by id or name. A project can be renamed or deleted
 * after its name was resolved to an id: if the documents have another name, or there are none, the
 * name is resolved again. Throws `project_not_found`.
 */
export async function readPublished(kernel: Kernel, ref: ProjectRef): Promise<PublishedProject> {
  const publisher = publisherOf(kernel)
  if ('id' in ref) return publisher.published(ref.id)
  const names = publishedNamesOf(kernel)
  const id = await names.resolve(ref)
  const published = await publisher.published(id).catch(undefinedIfDeleted)
  if (published?.name === ref.name) return published
  names.invalidate(ref.name)
  return publisher.published(await names.resolve(ref))
}

function undefinedIfDeleted(error: unknown): undefined {
  if (!(error instanceof PubringError) || error.code !== 'project_not_found') throw error
}
