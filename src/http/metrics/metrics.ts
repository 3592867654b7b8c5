import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { LiveServices } from '../../core/publishing/live.ts'
import { staleAfterMs } from '../../core/publishing/publisher.ts'
import { intakeCodes } from '../../intake/codes.ts'
import type { RequestRecord } from '../hooks/request-records.ts'
import { addGauges } from './gauges.ts'

/** Error codes of rejected keys; a finer code in the error says which rule applied. */
const rejectionCodes: readonly string[] = Object.values(intakeCodes)

/**
 * Collects metrics for Prometheus. Labels have few values: route patterns, error codes, algorithms;
 * never a URL, a name, an id or a secret.
 */
export function createMetrics(app: FastifyInstance, live: LiveServices): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  addGauges(registry, app, live)
  app.requestRecords.observe(requestObserver(registry))
  app.requestRecords.observe(rejectionObserver(registry))
  app.requestRecords.observe(publishingObserver(registry))
  return registry
}

type Observer = (record: RequestRecord) => void

function requestObserver(registry: Registry): Observer {
  const registers = [registry]
  const requests = new Counter({
    name: 'pubring_http_requests_total',
    help: 'Completed requests; code is the error code, empty on success.',
    labelNames: ['method', 'route', 'status', 'code'] as const,
    registers,
  })
  const durations = new Histogram({
    name: 'pubring_http_request_duration_seconds',
    help: 'From the first byte of a request to the last of its response; excludes held requests and streams.',
    labelNames: ['method', 'route'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  })
  return ({ method, route = 'none', status, problem, ms, wasHeld }) => {
    requests.inc({ method, route, status, code: problem?.code ?? '' })
    if (!wasHeld) durations.observe({ method, route }, ms / 1_000)
  }
}

function rejectionObserver(registry: Registry): Observer {
  const rejected = new Counter({
    name: 'pubring_key_refusals_total',
    help: 'Keys rejected by the intake, by deciding rule.',
    labelNames: ['code'] as const,
    registers: [registry],
  })
  return ({ problem }) => {
    if (problem === undefined || !rejectionCodes.includes(problem.code)) return
    rejected.inc({ code: problem.extras.errors?.[0]?.code ?? problem.code })
  }
}

function publishingObserver(registry: Registry): Observer {
  const registers = [registry]
  const served = new Counter({
    name: 'pubring_published_total',
    help: 'Key sets and discovery documents served, by status (200 or 304).',
    labelNames: ['status'] as const,
    registers,
  })
  const ages = new Histogram({
    name: 'pubring_published_age_seconds',
    help: 'Age of the database read that a served document is based on.',
    buckets: [0.1, 0.25, 0.5, 1, 5, 30, 60, 300, 600, 3_600],
    registers,
  })
  const stale = new Counter({
    name: 'pubring_published_stale_total',
    help: 'Documents older than a second served while the database was unavailable.',
    registers,
  })
  return ({ dataAgeMs, status }) => {
    if (dataAgeMs === undefined || status >= 400) return
    served.inc({ status })
    ages.observe(dataAgeMs / 1_000)
    if (dataAgeMs > staleAfterMs) stale.inc()
  }
}
