import { TokenCheck, TokenCheckRequest } from '../../contract/token-checks.ts'
import type { Context } from '../../core/context.ts'
import { checkToken } from '../../core/tokens/check.ts'
import { projectOf } from '../hooks/access.ts'
import type { App } from '../options.ts'
import { ProjectPath } from '../request/paths.ts'

export function tokenCheckRoutes(app: App, context: Context): void {
  app.route({
    method: 'POST',
    url: '/v1/projects/:projectIdOrName/token-checks',
    config: { access: { role: 'reader' } },
    schema: {
      operationId: 'checkToken',
      summary: 'Say why a JWT would or would not verify',
      description:
        "Takes the steps of a verifier that has the project's keys of this moment, and ends with the first that fails. A token that would not verify is a success of the check: 200 with `valid: false`. The token is neither kept nor logged.",
      tags: ['JWT keys'],
      params: ProjectPath,
      body: TokenCheckRequest,
      response: { 200: TokenCheck },
    },
    handler: async (request, reply) => {
      const report = await checkToken(context, projectOf(request).id, request.body)
      return reply.header('cache-control', 'no-store').send(report)
    },
  })
}
