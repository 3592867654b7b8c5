import type { FastifyRequest } from 'fastify'
import type { Context, ProjectRef } from '../../kernel/context.ts'
import { principalOf } from '../../kernel/http/hooks/access.ts'
import { intersect } from '../../kernel/values/validity.ts'
import type { CachedDocument } from '../keys/documents.ts'
import type { LiveServices } from './live.ts'
import type { PublishedProject } from './publisher.ts'

/**
 * Lets the response cache reuse the document for the same API key, while the API key and the
 * document are both valid. The heads are read for each request.
 */
export function reuseKeyDocument(
  request: FastifyRequest,
  { store }: Context,
  document: CachedDocument,
): void {
  const principal = principalOf(request)
  const validity = intersect(principal.validity, document.validity)
  // The ledger that the API key's validity depends on changed between the two reads.
  if (validity === undefined) return
  const { authenticator } = request.server
  request.reuse = {
    validity,
    headsMatch: store.headsMatch,
    onReuse: () => authenticator.recordUse(principal),
  }
}

/** Lets the response cache reuse the documents while the publisher would serve the same. */
export function reusePublished(
  request: FastifyRequest,
  { names, publisher }: LiveServices,
  ref: ProjectRef,
  { projectId, validity, staleMs }: PublishedProject,
): void {
  const dataAgeMs = () => publisher.ageMs(projectId)
  request.dataAgeMs = dataAgeMs()
  // The Age of a stale response differs with every request.
  if (staleMs !== undefined) return
  request.reuse = {
    validity,
    headsMatch: (heads) => names.isCurrent(ref, projectId) && publisher.headsMatch(heads),
    dataAgeMs,
  }
}
