import { setTimeout as delay } from 'node:timers/promises'
import { Type } from 'typebox'
import type { Context } from '../../core/context.ts'
import type { App } from '../options.ts'

/** Milliseconds within which the storage must answer. */
const patience = 2000

const Health = Type.Object(
  {
    status: Type.Enum(['ok', 'unavailable']),
    reason: Type.Optional(Type.Enum(['storage', 'shutting_down', 'overloaded'])),
    writes: Type.Optional(
      Type.Enum(['failing'], {
        description: 'Present while the storage takes no changes; key sets and lists are served.',
      }),
    ),
  },
  { $id: 'Health', description: 'How the process is.' },
)

export function healthRoutes(app: App, context: Context): void {
  app.addSchema(Health)
  app.route({
    method: 'GET',
    url: '/health/live',
    config: { unlimited: true },
    schema: {
      operationId: 'getLiveness',
      summary: 'Whether the process runs',
      description: 'Says nothing about the storage: restart the process only if this fails.',
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
      summary: 'Whether requests can be served',
      description:
        '503 while what is stored cannot be read within 2 seconds, while requests are refused because of too much load, and once shutting down. While only changes cannot be written it stays 200, and says so: out of the balancer, the process could not serve key sets either.',
      tags: ['Health'],
      response: { 200: Health, 503: Health },
    },
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const reason = await unreadiness(app, context)
      if (reason === undefined) {
        const writes = context.store.isWritable() ? {} : ({ writes: 'failing' } as const)
        return reply.code(200).send({ status: 'ok', ...writes })
      }
      request.log.warn({ reason }, 'not ready')
      return reply.code(503).send({ status: 'unavailable', reason })
    },
  })
}

async function unreadiness(app: App, context: Context) {
  if (app.readiness.shuttingDown) return 'shutting_down'
  if (app.isUnderPressure()) return 'overloaded'
  return storageFault(context)
}

async function storageFault(context: Context): Promise<'storage' | undefined> {
  const stop = new AbortController()
  const answered = context.store.ping().then(
    () => undefined,
    () => 'storage' as const,
  )
  const late = delay(patience, 'storage' as const, { signal: stop.signal }).catch(() => undefined)
  try {
    return await Promise.race([answered, late])
  } finally {
    stop.abort()
  }
}
