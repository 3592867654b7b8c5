import { once } from 'node:events'
import type { Server } from 'node:http'
import { promisify } from 'node:util'
import { intakeCodes } from '@pubring/intake/codes'
import type { FastifyInstance } from 'fastify'
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  Registry,
} from 'prom-client'
import { isStop } from '../../features/log/faults.ts'
import type { LiveServices } from '../../features/publishing/live.ts'
import { staleAfterMs } from '../ledger/revision-watch.ts'
import type { RequestRecord } from './hooks/request-records.ts'
import { createServer } from './node-http.ts'

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

type Reading = number | undefined | readonly (readonly [labels: object, value: number])[]

interface GaugeOptions extends Pick<GaugeConfiguration<string>, 'name' | 'help' | 'labelNames'> {
  /** At each scrape: the value, if there is one, or the value for each combination of labels. */
  read(): Reading | Promise<Reading>
}

/** Metrics of the state of this process, and of what it knows of the database. */
function addGauges(registry: Registry, app: FastifyInstance, live: LiveServices): void {
  for (const gauge of gaugesOf(app, live)) addGauge(registry, gauge)
  const registers = [registry]
  const reads = new Histogram({
    name: 'pubring_database_read_seconds',
    help: 'Duration of a small read of the database, made four times a second.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers,
  })
  live.watch.onRead(({ outcome, ms }) => {
    if (outcome === 'completed') reads.observe(ms / 1_000)
  })
  const dropped = new Counter({
    name: 'pubring_dropped_connections_total',
    help: 'TCP connections closed at once because too many were open.',
    registers,
  })
  app.server.on('drop', () => dropped.inc())
}

function addGauge(registry: Registry, { read, ...options }: GaugeOptions): void {
  new Gauge({
    ...options,
    registers: [registry],
    async collect() {
      const reading = await read()
      if (typeof reading === 'number') return this.set(reading)
      if (reading === undefined) return this.remove()
      this.reset()
      for (const [labels, value] of reading) this.inc({ ...labels }, value)
    },
  })
}

/** Long because it is a table. */
function gaugesOf(app: FastifyInstance, live: LiveServices): GaugeOptions[] {
  const { statistics, log, keySets, events } = live
  const { figures } = statistics
  const { store } = live.context
  return [
    {
      name: 'pubring_keys',
      help: 'Registered keys, as last counted.',
      labelNames: ['algorithm', 'state'],
      read: () =>
        figures().keys.map(({ algorithm, state, count }) => [{ algorithm, state }, count]),
    },
    {
      name: 'pubring_warnings',
      help: 'Warnings about keys, projects and API keys, as last counted.',
      labelNames: ['code', 'severity'],
      read: () =>
        figures().warnings.map(({ code, severity, count }) => [{ code, severity }, count]),
    },
    {
      name: 'pubring_next_key_expiry_seconds',
      help: 'Time until the next active key expires, as last counted; absent if none does.',
      read: () => figures().nextExpiry,
    },
    {
      name: 'pubring_keys_age_seconds',
      help: 'Time since the keys were last counted; absent before the first count.',
      read: () => figures().ageSeconds,
    },
    {
      name: 'pubring_keys_count_failed',
      help: '1 if the last count of the keys failed, so that pubring_keys is outdated.',
      read: () => Number(figures().hasFailed),
    },
    {
      name: 'pubring_storage_readable',
      help: '1 while the storage can be read, else 0.',
      read: () =>
        store.ping().then(
          () => 1,
          () => 0,
        ),
    },
    {
      name: 'pubring_storage_writable',
      help: '0 from a failed write until the next successful one, else 1.',
      read: () => Number(store.isWritable()),
    },
    // The next gauge has no values for SQLite.
    {
      name: 'pubring_database_connections',
      help: 'Connections to PostgreSQL by state (used, idle), and the callers that wait for one.',
      labelNames: ['state'],
      read: () =>
        Object.entries<number>(store.diagnostics().connections ?? {}).map(([state, count]) => [
          { state },
          count,
        ]),
    },
    {
      name: 'pubring_database_primary',
      help: '1 for the host that is used as the primary.',
      labelNames: ['host'],
      read: () => {
        const { primary: host } = store.diagnostics()
        return host === undefined ? [] : [[{ host }, 1]]
      },
    },
    {
      name: 'pubring_contradictions',
      help: 'Rows that contradict their ledgers or themselves, of those that were read.',
      read: store.contradictions.count,
    },
    {
      name: 'pubring_log_stopped',
      help: '1 if the last attempt to sign a checkpoint of the log has failed.',
      read: () => Number(log.state().error !== undefined || isStop(log.state().fault)),
    },
    {
      name: 'pubring_log_witness_cosigned',
      help: '1 for a witness that has cosigned the last checkpoint of the log that it was sent.',
      labelNames: ['witness'],
      read: () =>
        log
          .witnesses()
          .map(({ name, outcome }) => [{ witness: name }, Number(outcome === 'cosigned')]),
    },
    {
      name: 'pubring_held_requests',
      help: 'Requests for key sets that are held until the key set changes.',
      read: keySets.count,
    },
    {
      name: 'pubring_event_streams',
      help: 'Open event streams.',
      read: events.count,
    },
    {
      name: 'pubring_open_connections',
      help: 'Open TCP connections.',
      read: () => promisify(app.server.getConnections).call(app.server),
    },
  ]
}

/**
 * Serves only `/metrics`, on a separate port, so that access to metrics and to the API can be
 * granted independently. Rejects if it cannot listen.
 */
export async function serveMetrics(
  { host, port }: { host: string; port: number },
  metrics: () => Promise<string>,
): Promise<Server> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0]
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (path !== '/metrics' || !isRead) {
      response
        .writeHead(404, { 'content-type': 'text/plain' })
        .end('The metrics are at /metrics.\n')
      return
    }
    metrics().then(
      (text) => {
        response.writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }).end(text)
      },
      () => response.writeHead(500).end(),
    )
  })
  server.listen({ host, port })
  await once(server, 'listening')
  return server
}
