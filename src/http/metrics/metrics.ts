import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { Live } from '../../core/publishing/live.ts'
import type { Outcome } from '../hooks/request-records.ts'
import type { HttpOptions } from '../options.ts'
import { addGauges } from './gauges.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Empty where nothing is counted. */
    metrics: Registry
  }
}

/** Milliseconds that a key set may be behind: what is older was served because the store is away. */
const freshness = 1_000

/** Codes of errors that refuse a key; the finer code says which rule it broke. */
const refusals: readonly string[] = [
  'invalid_key_pem',
  'private_key_submitted',
  'unsupported_key',
  'weak_key',
  'algorithm_mismatch',
  'compromised_key',
]

/**
 * Counts what the application does, for Prometheus, where that is wanted. Labels have few values
 * each: patterns of routes, our own codes, algorithms; never an address, a name, an id or a secret.
 */
export function addMetrics(app: FastifyInstance, live: Live, { metrics }: HttpOptions): void {
  const registry = new Registry()
  app.decorate('metrics', registry)
  if (!metrics) return
  collectDefaultMetrics({ register: registry })
  addGauges(registry, app, live)
  app.outcomes.observe(requestNotes(registry))
  app.outcomes.observe(refusalNotes(registry))
  app.outcomes.observe(publishingNotes(registry))
}

type Note = (outcome: Outcome) => void

function requestNotes(registry: Registry): Note {
  const registers = [registry]
  const requests = new Counter({
    name: 'pubring_http_requests_total',
    help: 'Requests that were answered; code is that of the error, empty for a success.',
    labelNames: ['method', 'route', 'status', 'code'] as const,
    registers,
  })
  const durations = new Histogram({
    name: 'pubring_http_request_duration_seconds',
    help: 'From the first octet of a request to the last of its answer; not those that wait for news.',
    labelNames: ['method', 'route'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  })
  return ({ method, route = 'none', status, problem, ms, waited }) => {
    requests.inc({ method, route, status, code: problem?.code ?? '' })
    if (!waited) durations.observe({ method, route }, ms / 1_000)
  }
}

function refusalNotes(registry: Registry): Note {
  const refused = new Counter({
    name: 'pubring_key_refusals_total',
    help: 'Keys that the intake refused, by the rule that decided.',
    labelNames: ['code'] as const,
    registers: [registry],
  })
  return ({ problem }) => {
    if (problem === undefined || !refusals.includes(problem.code)) return
    refused.inc({ code: problem.extras.errors?.[0]?.code ?? problem.code })
  }
}

function publishingNotes(registry: Registry): Note {
  const registers = [registry]
  const served = new Counter({
    name: 'pubring_published_total',
    help: 'Key sets and discovery documents that were served: 200, or 304 to who has them already.',
    labelNames: ['status'] as const,
    registers,
  })
  const ages = new Histogram({
    name: 'pubring_published_age_seconds',
    help: 'How long ago the look at the database was that a served document rests on.',
    buckets: [0.1, 0.25, 0.5, 1, 5, 30, 60, 300, 600, 3_600],
    registers,
  })
  const stale = new Counter({
    name: 'pubring_published_stale_total',
    help: 'Documents older than a second that were served while the database was away.',
    registers,
  })
  return ({ lookAge, status }) => {
    if (lookAge === undefined || status >= 400) return
    served.inc({ status })
    ages.observe(lookAge / 1_000)
    if (lookAge > freshness) stale.inc()
  }
}
