import { readerAccess } from '../../kernel/access/grants.ts'
import { projectOf } from '../../kernel/http/hooks/access.ts'
import type { App } from '../../kernel/http/options.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { Verifiers } from './contract.ts'
import { listVerifiers } from './operations.ts'

export function routes(app: App, kernel: Kernel): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/v1/projects/:projectIdOrName/verifiers',
    config: { access: readerAccess },
    schema: {
      operationId: 'listVerifiers',
      summary: 'List who has fetched the key set, as seen by this replica',
      description:
        'The user agents that have fetched the key set of the project from the replica that answers, since it started: the last 1,000, in its memory only. They are what clients call themselves. After a revocation `hasCurrentSet` says which have had a key set without the key. Not known are verifiers behind a cache, those that ask other replicas, and all but the last request of several with one user agent.',
      response: { 200: Verifiers },
    },
    handler: async (request, reply) => {
      const verifiers = await listVerifiers(kernel, projectOf(request).id)
      return reply.header('cache-control', 'no-store').send(verifiers)
    },
  })
}
