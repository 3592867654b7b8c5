import { readerAccess } from '../../kernel/access/grants.ts'
import { Type, text } from '../../kernel/contract.ts'
import { on } from '../../kernel/hooks.ts'
import { contextOf, projectOf } from '../../kernel/http/hooks/access.ts'
import type { App } from '../../kernel/http/options.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { keyUses } from '../keys/changes.ts'
import { keyUseChanges } from './changes.ts'
import { KeyReporter, KeyUseReport, KeyUsesReported, Verifiers } from './contract.ts'
import { listReporters, listVerifiers, readKeyUses, reportKeyUses } from './operations.ts'

const collection = '/v1/projects/:projectIdOrName/key-uses'

export const hooks = [on(keyUses, readKeyUses)]

export function routes(app: App, kernel: Kernel): void {
  app.route({
    method: 'POST',
    url: collection,
    config: {
      access: { role: 'reader', auditor: false, recentSignIn: 'never' },
      errors: ['reporter_taken', 'reporter_limit_reached', 'rate_limited'],
    },
    schema: {
      operationId: 'reportKeyUses',
      summary: 'Report which keys a verifier has seen in use',
      description:
        'A verifier reports the keys whose tokens it accepted. It also reports when it accepted none: a verifier that stops reporting counts as silent. Once an hour is enough; less than 60 seconds after its last report it gets 429. The name belongs to the API key, the person, or the access rule and workload that used it first. A report is no change of the project: it has no revision and no event, and does not count for the limit of changes.',
      body: KeyUseReport,
      response: { 200: KeyUsesReported },
    },
    handler: async (request, reply) => {
      const own = contextOf(request, kernel)
      return reply.send(await reportKeyUses(own, projectOf(request).id, request.body))
    },
  })
  app.route({
    method: ['GET', 'HEAD'],
    url: collection,
    config: { access: readerAccess },
    schema: {
      operationId: 'listKeyReporters',
      summary: 'List the verifiers that report uses of keys',
      description: 'All of them, by name. What they have seen is at each key, in `details.use`.',
      response: { 200: Type.Array(KeyReporter) },
    },
    handler: async (request, reply) =>
      reply.send(await listReporters(kernel, projectOf(request).id)),
  })
  app.route({
    method: 'DELETE',
    url: `${collection}/:reporter`,
    config: {
      access: { role: 'writer', auditor: false, recentSignIn: 'always' },
      errors: ['reporter_not_found'],
    },
    schema: {
      operationId: 'deleteKeyReporter',
      summary: 'Remove a verifier that no longer reports',
      description:
        'Removes it with what it has reported, and frees its name. It counts again once it reports again.',
      params: Type.Object({ reporter: text('The name of the verifier.', 'orders-api') }),
      response: { 204: Type.Null({ description: 'The verifier is removed.' }) },
    },
    handler: async (request, reply) => {
      const { store, origin } = contextOf(request, kernel)
      const { reporter } = request.params
      const projectId = projectOf(request).id
      await store.commit(keyUseChanges.removeReporter, { origin, projectId, reporter })
      return reply.code(204).send(null)
    },
  })
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
