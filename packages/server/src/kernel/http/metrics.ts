import { once } from 'node:events'
import type { Server } from 'node:http'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Kernel } from '../kernel.ts'
import type { GaugeOptions, HttpSide, Meters } from './http-side.ts'
import { createServer } from './node-http.ts'

/**
 * Collects metrics for Prometheus. Labels have few values: route patterns, error codes, algorithms;
 * never a URL, a name, an id or a secret.
 */
export function createMetrics(
  app: FastifyInstance,
  kernel: Kernel,
  sides: readonly HttpSide[],
): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const meters: Meters = {
    gauge: (options) => addGauge(registry, options),
    counter: (options) => new Counter({ ...options, registers }),
    histogram: (options) => new Histogram({ ...options, registers }),
    onRequest: (observer) => app.requestRecords.observe(observer),
  }
  addRequestMetrics(meters)
  addProcessMetrics(app, meters)
  addDatabaseMetrics(kernel, meters)
  for (const { metrics } of sides) metrics?.(kernel, meters)
  return registry
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

function addRequestMetrics({ counter, histogram, onRequest }: Meters): void {
  const requests = counter({
    name: 'pubring_http_requests_total',
    help: 'Completed requests; code is the error code, empty on success.',
    labelNames: ['method', 'route', 'status', 'code'],
  })
  const durations = histogram({
    name: 'pubring_http_request_duration_seconds',
    help: 'From the first byte of a request to the last of its response; excludes held requests and streams.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  })
  onRequest(({ method, route = 'none', status, problem, ms, wasHeld }) => {
    requests.inc({ method, route, status, code: problem?.code ?? '' })
    if (!wasHeld) durations.observe({ method, route }, ms / 1_000)
  })
}

function addProcessMetrics(
  { server, readiness }: FastifyInstance,
  { gauge, counter }: Meters,
): void {
  gauge({
    name: 'pubring_starting',
    help: '1 until the process has prepared its database, else 0.',
    read: () => Number(readiness.starting),
  })
  const dropped = counter({
    name: 'pubring_dropped_connections_total',
    help: 'TCP connections closed at once because too many were open.',
  })
  server.on('drop', () => dropped.inc())
  gauge({
    name: 'pubring_open_connections',
    help: 'Open TCP connections.',
    read: () => promisify(server.getConnections).call(server),
  })
}

function addDatabaseMetrics({ store, watch }: Kernel, { gauge, histogram }: Meters): void {
  const reads = histogram({
    name: 'pubring_database_read_seconds',
    help: 'Duration of a small read of the database, made four times a second.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  })
  watch.onRead(({ outcome, ms }) => {
    if (outcome === 'completed') reads.observe(ms / 1_000)
  })
  gauge({
    name: 'pubring_storage_readable',
    help: '1 while the storage can be read, else 0.',
    read: () =>
      store.ping().then(
        () => 1,
        () => 0,
      ),
  })
  gauge({
    name: 'pubring_storage_writable',
    help: '0 from a failed write until the next successful one, else 1.',
    read: () => Number(store.isWritable()),
  })
  // The next gauge has no values for SQLite.
  gauge({
    name: 'pubring_database_connections',
    help: 'Connections to PostgreSQL by state (used, idle), and the callers that wait for one.',
    labelNames: ['state'],
    read: () =>
      Object.entries<number>(store.diagnostics().connections ?? {}).map(([state, count]) => [
        { state },
        count,
      ]),
  })
  gauge({
    name: 'pubring_database_primary',
    help: '1 for the host that is used as the primary.',
    labelNames: ['host'],
    read: () => {
      const { primary: host } = store.diagnostics()
      return host === undefined ? [] : [[{ host }, 1]]
    },
  })
  gauge({
    name: 'pubring_contradictions',
    help: 'Rows that contradict their ledgers or themselves, of those that were read.',
    read: store.contradictions.count,
  })
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
