import { readerAccess } from '../../kernel/access/grants.ts'
import { Type } from '../../kernel/contract.ts'
import { principalOf } from '../../kernel/http/hooks/access.ts'
import type { Meters } from '../../kernel/http/http-side.ts'
import type { App } from '../../kernel/http/options.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { projectPageQuery, readProjectPage } from '../projects/http.ts'
import { ProjectHealth, Warning } from './contract.ts'
import { listWarnings, projectHealth } from './operations.ts'
import { keyStatisticsOf } from './statistics.ts'

/** Projects whose keys one request reads. */
const maxPageSize = 50

export function routes(app: App, kernel: Kernel): void {
  app.route({
    method: 'GET',
    url: '/v1/warnings',
    config: { access: readerAccess },
    schema: {
      operationId: 'listWarnings',
      summary: 'List what needs attention',
      description:
        'Returns up to 200 warnings about what the caller may see, the most urgent first: keys and API keys (for their admins) that expire in 30, 7 and 1 days, unused API keys, and projects without active keys. For callers that see all projects a new warning may appear a minute late, if time or another replica is its cause; one whose cause has gone disappears at once.',
      response: { 200: Type.Array(Warning) },
    },
    handler: async (request, reply) => reply.send(await listWarnings(kernel, principalOf(request))),
  })
  const url = '/v1/project-health'
  app.route({
    method: 'GET',
    url,
    config: { access: readerAccess, headers: ['Link'] },
    schema: {
      operationId: 'listProjectHealth',
      summary: 'List the state of projects',
      description:
        'Returns a page of the projects that the caller may see, as `GET /v1/projects` does: keys by state, the next expiry and the kinds of its warnings.',
      querystring: projectPageQuery(maxPageSize),
      response: { 200: Type.Array(ProjectHealth) },
    },
    handler: async (request, reply) => {
      const page = await readProjectPage(kernel, request, reply, url)
      return reply.send(await projectHealth(kernel, page))
    },
  })
}

export function metrics(kernel: Kernel, { gauge }: Meters): void {
  const { figures } = keyStatisticsOf(kernel)
  gauge({
    name: 'pubring_keys',
    help: 'Registered keys, as last counted.',
    labelNames: ['algorithm', 'state'],
    read: () => figures().keys.map(({ algorithm, state, count }) => [{ algorithm, state }, count]),
  })
  gauge({
    name: 'pubring_warnings',
    help: 'Warnings about keys, projects and API keys, as last counted.',
    labelNames: ['code', 'severity'],
    read: () => figures().warnings.map(({ code, severity, count }) => [{ code, severity }, count]),
  })
  gauge({
    name: 'pubring_next_key_expiry_seconds',
    help: 'Time until the next active key expires, as last counted; absent if none does.',
    read: () => figures().nextExpiry,
  })
  gauge({
    name: 'pubring_keys_age_seconds',
    help: 'Time since the keys were last counted; absent before the first count.',
    read: () => figures().ageSeconds,
  })
  gauge({
    name: 'pubring_keys_count_failed',
    help: '1 if the last count of the keys failed, so that pubring_keys is outdated.',
    read: () => Number(figures().hasFailed),
  })
}
