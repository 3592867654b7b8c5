import { PubringError } from '../../errors.ts'
import type { ProjectRef } from '../context.ts'
import type { PublishedNames } from './names.ts'
import type { PublishedProject, Publisher } from './publisher.ts'

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
