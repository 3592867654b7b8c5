import underPressure from '@fastify/under-pressure'
import type { FastifyInstance } from 'fastify'
import { PubringError } from '../../../errors.ts'
import { storageUnavailable } from '../../faults.ts'

const sampleIntervalMs = 500

/** A client that would wait for longer does better with another replica. */
const defaultMaxLagMs = 500

/**
 * Rejects requests with 503 while the server has no database since its start, and while the event loop
 * lags by more than `maxLagMs` (0: never), so that accepted ones are served in time. A rejected request
 * has changed nothing.
 */
export async function addOverload(app: FastifyInstance, maxLagMs = defaultMaxLagMs): Promise<void> {
  // Starting blocks the event loop, which the first samples would take for an overload.
  let isStarted = false
  app.addHook('onReady', async () => {
    setTimeout(() => {
      isStarted = true
    }, 2 * sampleIntervalMs).unref()
  })
  app.decorate('isOverloaded', () => isStarted && app.isUnderPressure())
  await app.register(underPressure, {
    maxEventLoopDelay: maxLagMs,
    sampleInterval: sampleIntervalMs,
    // The hooks below decide.
    pressureHandler: async () => undefined,
  })
  const rejectIfUnable = () => {
    if (app.readiness.starting) throw storageUnavailable(starting)
    if (app.isOverloaded()) throw overloaded()
  }
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.routeOptions.config.access !== undefined) rejectIfUnable()
    done()
  })
  // After the hooks of the route, so that a 503 has the CORS headers of the route.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { access, unlimited } = request.routeOptions.config
    if (access === undefined && !unlimited) rejectIfUnable()
    done()
  })
}

const starting =
  'The server is starting, and its database is not ready. Nothing was changed: try again shortly.'

function overloaded(): PubringError {
  return new PubringError(
    'overloaded',
    'The server is overloaded. Nothing was changed: try again shortly.',
    { retryAfter: 1 },
  )
}
