import underPressure from '@fastify/under-pressure'
import type { FastifyInstance } from 'fastify'
import { PubringError } from '../../errors.ts'

/** Milliseconds between two measurements. */
const sampleInterval = 500

/**
 * Answers 503 at once where the event loop lags by more than `maxLag` milliseconds (0: never), so
 * that what is answered is answered in time. Nothing of such a request was read or done.
 */
export async function addOverload(app: FastifyInstance, maxLag: number): Promise<void> {
  await app.register(underPressure, {
    maxEventLoopDelay: maxLag,
    sampleInterval,
    pressureHandler: async (request) => {
      if (request.routeOptions.config.access !== undefined) throw overloaded()
    },
  })
  // After the hooks of the route, so that a refusal is open to all origins where the answer is.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { access, unlimited } = request.routeOptions.config
    if (access === undefined && !unlimited && app.isUnderPressure()) throw overloaded()
    done()
  })
}

function overloaded(): PubringError {
  return new PubringError(
    'overloaded',
    'There is more to do here than can be done in time. Nothing was changed: try again shortly.',
    { retryAfter: 1 },
  )
}
