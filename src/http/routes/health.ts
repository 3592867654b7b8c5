import { Type } from 'typebox'
import type { Context } from '../../core/context.ts'
import { withStorageTimeout } from '../../core/storage-faults.ts'
import type { App } from '../options.ts'

/** How long a ping of the storage may take. */
const pingTimeoutMs = 2_000

const Health = Type.Object(
  {
    status: Type.Enum(['ok', 'unavailable']),
    reason: Type.Optional(Type.Enum(['storage', 'shutting_down', 'overloaded'])),
    writes: Type.Optional(
      Type.Enum(['failing'], {
        description: 'Present while the storage accepts no changes; key sets and lists are served.',
      }),
    ),
  },
  { $id: 'Health', description: 'State of the process.' },
)

export function healthRoutes(app: App, context: Context): void {
  app.addSchema(Health)
  app.route({
    method: 'GET',
    url: '/health/live',
    config: { unlimited: true },
    schema: {
      operationId: 'getLiveness',
      summary: 'Check that the process is running',
      description: 'Does not check the storage. Restart the process only if this fails.',
      tags: ['Health'],
      response: { 200: Health },
    },
    handler: async (_request, reply) =>
      reply.header('cache-control', 'no-store').send({ status: 'ok' }),
  })
  app.route({
    method: 'GET',
    url: '/health/ready',
    config: { unlimited: true },
    schema: {
      operationId: 'getReadiness',
      summary: 'Check that requests can be served',
      description:
        '503 while the storage cannot be read within 2 seconds, while the process is overloaded, and during shutdown. While only writes fail it stays 200 and says so, because a load balancer that removed the process would take its key sets away too.',
      tags: ['Health'],
      response: { 200: Health, 503: Health },
    },
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const reason = await notReadyReason(app, context)
      if (reason === undefined) {
        const writes = context.store.isWritable() ? {} : ({ writes: 'failing' } as const)
        return reply.code(200).send({ status: 'ok', ...writes })
      }
      request.log.warn({ reason }, 'not ready')
      return reply.code(503).send({ status: 'unavailable', reason })
    },
  })
}

async function notReadyReason(app: App, context: Context) {
  if (app.readiness.shuttingDown) return 'shutting_down'
  if (app.isUnderPressure()) return 'overloaded'
  return withStorageTimeout(context.store.ping(), pingTimeoutMs).then(
    () => undefined,
    () => 'storage' as const,
  )
}
