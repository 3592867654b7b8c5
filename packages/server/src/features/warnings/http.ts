import { Type } from '../../kernel/contract/schema.ts'
import { principalOf } from '../../kernel/http/hooks/access.ts'
import type { App } from '../../kernel/http/options.ts'
import { projectPageQuery, readProjectPage } from '../projects/http.ts'
import type { LiveServices } from '../publishing/live.ts'
import { ProjectHealth, Warning } from './contract.ts'
import { listWarnings, projectHealth } from './operations.ts'

/** Projects whose keys one request reads. */
const maxPageSize = 50

export function warningRoutes(app: App, live: LiveServices): void {
  const access = { role: 'reader', auditor: true } as const
  app.route({
    method: 'GET',
    url: '/v1/warnings',
    config: { access },
    schema: {
      operationId: 'listWarnings',
      summary: 'List what needs attention',
      description:
        'Returns up to 200 warnings about what the caller may see, the most urgent first: keys and API keys (for their admins) that expire in 30, 7 and 1 days, unused API keys, and projects without active keys. For callers that see all projects a new warning may appear a minute late; one whose cause has gone disappears at once.',
      response: { 200: Type.Array(Warning) },
    },
    handler: async (request, reply) => {
      const { context, statistics } = live
      return reply.send(await listWarnings(context, principalOf(request), statistics))
    },
  })
  const url = '/v1/project-health'
  app.route({
    method: 'GET',
    url,
    config: { access, headers: ['Link'] },
    schema: {
      operationId: 'listProjectHealth',
      summary: 'List the state of projects',
      description:
        'Returns a page of the projects that the caller may see, as `GET /v1/projects` does: keys by state, the next expiry and the number of warnings.',
      querystring: projectPageQuery(maxPageSize),
      response: { 200: Type.Array(ProjectHealth) },
    },
    handler: async (request, reply) => {
      const page = await readProjectPage(live.context, request, reply, url)
      return reply.send(await projectHealth(live.context, page))
    },
  })
}
