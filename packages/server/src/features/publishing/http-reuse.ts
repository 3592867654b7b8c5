import type { FastifyRequest } from 'fastify'
import type { ProjectRef } from '../../kernel/context.ts'
import type { LiveServices } from './live.ts'
import type { PublishedProject } from './publisher.ts'

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
