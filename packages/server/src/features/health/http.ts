import type { FastifyReply, FastifyRequest } from 'fastify'
import { auditAccess } from '../../kernel/access/grants.ts'
import { Type } from '../../kernel/contract.ts'
import { withStorageTimeout } from '../../kernel/faults.ts'
import type { App } from '../../kernel/http/options.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { kernelChanges } from '../../kernel/kernel-changes.ts'
import { staleAfterMs } from '../../kernel/ledger/revision-watch.ts'
import { isoTime, now } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { readVersion } from '../../runtime/version.ts'
import { isStop, stopReason } from '../log/faults.ts'
import { type Log, logOf } from '../log/log.ts'
import { heldRequestsOf } from '../publishing/held-requests.ts'
import { publisherOf } from '../publishing/publisher.ts'
import { keySetReadersOf } from '../publishing/readers.ts'
import { Status } from './contract.ts'

/** How long a ping of the storage, and a trial change, may take. */
const pingTimeoutMs = 1_000
const trialTimeoutMs = 3_000

/** Followers that the status lists. */
const maxFollowers = 200

const Health = Type.Object(
  {
    status: Type.Enum(['ok', 'unavailable']),
    state: Type.Optional(
      Type.Enum(['fresh', 'stale', 'degraded'], {
        description:
          '`stale`: the database is unavailable, and key sets are served from memory. `degraded`: they are fresh, and the log has stopped. Also in the header `Pubring-State`.',
      }),
    ),
    reason: Type.Optional(Type.Enum(['storage', 'starting', 'shutting_down', 'overloaded'])),
    writes: Type.Optional(
      Type.Enum(['failing'], {
        description: 'Present while the storage accepts no changes; key sets and lists are served.',
      }),
    ),
    log: Type.Optional(
      Type.Enum(['stopped'], {
        description:
          'Present if the last attempt of this process to sign a checkpoint of the log failed. Everything else works. The reason `log_failed` is an error such as of the storage, after which the log goes on by itself; with any other, `state` is `degraded`.',
      }),
    ),
    logReason: Type.Optional(
      Type.String({ description: 'Why the log has stopped.', examples: ['not_stored'] }),
    ),
  },
  { $id: 'Health', description: 'State of the process.' },
)

type Reason = 'storage' | 'starting' | 'shutting_down' | 'overloaded'

export function routes(app: App, kernel: Kernel): void {
  const publisher = publisherOf(kernel)
  const log = logOf(kernel)
  app.addSchema(Health)
  statusRoute(app, kernel)
  app.route({
    method: 'GET',
    url: '/health/live',
    config: { unlimited: true },
    schema: {
      operationId: 'getLiveness',
      summary: 'Check that the process is running',
      description: 'Does not check the storage. Restart the process only if this fails.',
      response: { 200: Health },
    },
    handler: async (_request, reply) =>
      reply.header('cache-control', 'no-store').send({ status: 'ok' }),
  })
  app.route({
    method: 'GET',
    url: '/health/ready',
    config: { unlimited: true, headers: ['Pubring-State'] },
    schema: {
      operationId: 'getReadiness',
      summary: 'Check that key sets can be served',
      description:
        '200 while key sets can be served: `fresh` ones, or `stale` ones from memory while the database is unavailable; `degraded` while the log has stopped, as after the restore of a backup. 503 without any to serve, while the process is overloaded, and during shutdown.',
      response: { 200: Health, 503: Health },
    },
    handler: async (request, reply) => {
      const reason = busyReason(app)
      const isFresh = reason === undefined && (await isReadable(kernel))
      const canServe = reason === undefined && (isFresh || publisher.canServe())
      if (!canServe) return sendUnavailable(request, reply, reason ?? 'storage')
      const freshState = isStop(log.state().fault) ? 'degraded' : 'fresh'
      const state = isFresh ? freshState : 'stale'
      const writes = kernel.store.isWritable() ? {} : ({ writes: 'failing' } as const)
      return reply
        .header('cache-control', 'no-store')
        .header('pubring-state', state)
        .send({ status: 'ok', state, ...writes, ...logStop(log) })
    },
  })
  app.route({
    method: 'GET',
    url: '/health/write',
    config: { unlimited: true },
    schema: {
      operationId: 'getWritability',
      summary: 'Check that changes can be made',
      description:
        '503 while the database is unavailable or has rejected the last change, while the process is overloaded, and during shutdown. After a rejected change it makes a trial change, which leaves no trace.',
      response: { 200: Health, 503: Health },
    },
    handler: async (request, reply) => {
      const reason = busyReason(app)
      const canWrite =
        reason === undefined && (await isReadable(kernel)) && (await isWritable(kernel))
      if (!canWrite) return sendUnavailable(request, reply, reason ?? 'storage')
      return reply.header('cache-control', 'no-store').send({ status: 'ok', ...logStop(log) })
    },
  })
}

/** For operators, who see what health checks, which are public, do not tell. */
function statusRoute(app: App, kernel: Kernel): void {
  const { store, clock } = kernel
  const [startTime, heldRequests] = [now(clock), heldRequestsOf(kernel)]
  app.route({
    method: 'GET',
    url: '/v1/status',
    config: { access: auditAccess },
    schema: {
      operationId: 'getStatus',
      summary: 'Read the versions and the database of a process',
      description:
        'Describes the replica that answers. The health checks tell whether it can serve.',
      response: { 200: Status },
    },
    handler: async (_request, reply) => {
      const { engine, primary, backupTime } = store.diagnostics()
      return reply.header('cache-control', 'no-store').send({
        version: readVersion(),
        startTime,
        database: {
          ...{ engine, contradictions: store.contradictions.count() },
          ...present({ primary, backupTime }),
        },
        heldRequests: heldRequests.count(),
        followers: keySetReadersOf(kernel)
          .followers()
          .slice(0, maxFollowers)
          .map(({ time, ...follower }) => ({ ...follower, time: isoTime(time) })),
      })
    },
  })
}

function logStop(log: Log): { log?: 'stopped'; logReason?: string } {
  const logReason = stopReason(log.state())
  return logReason === undefined ? {} : { log: 'stopped', logReason }
}

function sendUnavailable(request: FastifyRequest, reply: FastifyReply, reason: Reason) {
  const { countedLog } = request.server
  countedLog.write({ level: 'warn', code: 'not_ready', message: 'not ready', cause: reason })
  return reply.code(503).header('cache-control', 'no-store').send({ status: 'unavailable', reason })
}

function busyReason(app: App): Reason | undefined {
  if (app.readiness.shuttingDown) return 'shutting_down'
  if (app.readiness.starting) return 'starting'
  return app.isOverloaded() ? 'overloaded' : undefined
}

/** Does not wait for a store that is known to be unavailable. */
async function isReadable({ watch, store }: Kernel): Promise<boolean> {
  if (watch.ageMs() > staleAfterMs) return false
  return succeeds(store.ping(), pingTimeoutMs)
}

async function isWritable({ store }: Kernel): Promise<boolean> {
  return store.isWritable() || succeeds(store.commit(kernelChanges.tryStorage, {}), trialTimeoutMs)
}

function succeeds(operation: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  return withStorageTimeout(operation, timeoutMs).then(
    () => true,
    () => false,
  )
}
