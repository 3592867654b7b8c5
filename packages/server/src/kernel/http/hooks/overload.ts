import { setTimeout as delay } from 'node:timers/promises'
import underPressure from '@fastify/under-pressure'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { PubringError } from '../../../errors.ts'
import { storageUnavailable } from '../../faults.ts'

const sampleIntervalMs = 500

/** A client that would wait for longer does better with another replica. */
const defaultMaxLagMs = 500

/**
 * For how long after it has begun to listen a server keeps changes waiting for its database. A usual
 * start takes less.
 */
const maxStartMs = 10_000

const startPollMs = 20

/** How many changes wait. */
const maxWaiting = 1_000

/** The methods of requests that a proxy repeats at no other replica after a 503. */
const unrepeatable = ['POST', 'PATCH']

/**
 * Rejects requests with 503 while the server has no database since its start, and while the event loop
 * lags by more than `maxLagMs` (0: never), so that accepted ones are served in time. A rejected request
 * has changed nothing. Public key sets in memory are served however long the lag: without them, verifiers
 * reject good tokens, or keep accepting revoked keys.
 */
export async function addOverload(app: FastifyInstance, maxLagMs = defaultMaxLagMs): Promise<void> {
  // Starting blocks the event loop, which the first samples would take for an overload.
  let isStarted = false
  let readyTime = performance.now()
  app.addHook('onReady', async () => {
    readyTime = performance.now()
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
  const mayStart = () =>
    app.readiness.starting &&
    !app.readiness.shuttingDown &&
    performance.now() - readyTime < maxStartMs
  let start: Promise<void> | undefined
  let waiting = 0
  async function waitForStart(): Promise<void> {
    while (mayStart()) await delay(startPollMs)
    start = undefined
    waiting = 0
  }
  const admit = (request: FastifyRequest, done: (error?: Error) => void): void => {
    const mayWait = unrepeatable.includes(request.method) && mayStart() && waiting < maxWaiting
    if (!app.readiness.starting) done(app.isOverloaded() ? overloaded() : undefined)
    else if (!mayWait) done(storageUnavailable(starting))
    else {
      waiting += 1
      start ??= waitForStart()
      void start.then(() => admit(request, done))
    }
  }
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.routeOptions.config.access === undefined) done()
    else admit(request, done)
  })
  // After the hooks of the route, so that a 503 has the CORS headers of the route.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { access, unlimited, isInMemory } = request.routeOptions.config
    const isExempt = access !== undefined || unlimited || isInMemory?.(request)
    if (isExempt) done()
    else admit(request, done)
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
