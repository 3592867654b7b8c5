import underPressure from '@fastify/under-pressure'
import type { FastifyInstance } from 'fastify'
import { PubringError } from '../../errors.ts'

/** Milliseconds between two measurements of the event loop's lag. */
const sampleIntervalMs = 500

/**
 * Rejects requests with 503 while the event loop lags by more than `maxLagMs` (0: never), so that
 * accepted ones are served in time. Nothing of a rejected request was read or done.
 */
export async function addOverload(app: FastifyInstance, maxLagMs: number): Promise<void> {
  await app.register(underPressure, {
    maxEventLoopDelay: maxLagMs,
    sampleInterval: sampleIntervalMs,
    pressureHandler: async (request) => {
      if (request.routeOptions.config.access !== undefined) throw overloaded()
    },
  })
  // After the route's own hooks, which let all origins read its responses, errors too.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { access, unlimited } = request.routeOptions.config
    if (access === undefined && !unlimited && app.isUnderPressure()) throw overloaded()
    done()
  })
}

function overloaded(): PubringError {
  return new PubringError(
    'overloaded',
    'The server is overloaded. Nothing was changed: try again shortly.',
    { retryAfter: 1 },
  )
}
