import type { FastifyInstance } from 'fastify'
import { Counter, Gauge, type GaugeConfiguration, Histogram, type Registry } from 'prom-client'
import { isStop } from '../../core/log/faults.ts'
import type { LogState } from '../../core/log/log.ts'
import type { LiveServices } from '../../core/publishing/live.ts'

/** Gauges collected at each scrape. The values of workers add up unless `aggregator` is set. */
export function addGauges(registry: Registry, app: FastifyInstance, live: LiveServices): void {
  addKeys(registry, live)
  addStorage(registry, live)
  addDatabase(registry, live)
  addGauge(registry, live.contradictions.count, {
    name: 'pubring_contradictions',
    help: 'Rows and ledgers that contradict each other or themselves, of those that were used or replayed.',
    aggregator: 'max',
  })
  addGauge(registry, () => Number(hasFailed(live.log.state())), {
    name: 'pubring_log_stopped',
    help: '1 if the last attempt to sign a checkpoint of the log has failed.',
    aggregator: 'max',
  })
  new Gauge({
    name: 'pubring_log_witness_cosigned',
    help: '1 for a witness that has cosigned the last checkpoint of the log that it was sent.',
    labelNames: ['witness'] as const,
    aggregator: 'max',
    registers: [registry],
    collect() {
      for (const { name: witness, outcome } of live.log.witnesses()) {
        this.set({ witness }, Number(outcome === 'cosigned'))
      }
    },
  })
  addGauge(registry, live.keySets.count, {
    name: 'pubring_held_requests',
    help: 'Requests for key sets that are held until the key set changes.',
  })
  addGauge(registry, live.events.count, {
    name: 'pubring_event_streams',
    help: 'Open event streams.',
  })
  addGauge(registry, () => openConnections(app), {
    name: 'pubring_open_connections',
    help: 'Open TCP connections.',
  })
  const dropped = new Counter({
    name: 'pubring_dropped_connections_total',
    help: 'TCP connections closed at once because too many were open.',
    registers: [registry],
  })
  app.server.on('drop', () => dropped.inc())
}

function hasFailed({ fault, error }: LogState): boolean {
  return error !== undefined || isStop(fault)
}

/** What this process uses of PostgreSQL; without values for SQLite, apart from the reads. */
function addDatabase(registry: Registry, { watch, context: { store } }: LiveServices): void {
  const registers = [registry]
  const reads = new Histogram({
    name: 'pubring_database_read_seconds',
    help: 'Duration of a small read of the database, made four times a second.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers,
  })
  watch.onRead(({ outcome, ms }) => {
    if (outcome === 'completed') reads.observe(ms / 1_000)
  })
  new Gauge({
    name: 'pubring_database_connections',
    help: 'Connections to PostgreSQL by state (used, idle), and the callers that wait for one.',
    labelNames: ['state'] as const,
    registers,
    collect() {
      const { connections } = store.diagnostics()
      for (const [state, count] of Object.entries<number>(connections ?? {}))
        this.set({ state }, count)
    },
  })
  new Gauge({
    name: 'pubring_database_primary',
    help: '1 for the host that is used as the primary.',
    labelNames: ['host'] as const,
    aggregator: 'max',
    registers,
    collect() {
      this.reset()
      const { primary } = store.diagnostics()
      if (primary !== undefined) this.set({ host: primary }, 1)
    },
  })
}

/** The gauge has no value while `read` returns undefined. */
function addGauge(
  registry: Registry,
  read: () => number | undefined | Promise<number>,
  options: Pick<GaugeConfiguration<string>, 'name' | 'help' | 'aggregator'>,
): void {
  new Gauge({
    ...options,
    registers: [registry],
    async collect() {
      const value = await read()
      if (value === undefined) this.remove()
      else this.set(value)
    },
  })
}

function openConnections(app: FastifyInstance): Promise<number> {
  return new Promise((resolve, reject) => {
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })
}

/** Every worker counts the same keys. Reports the last counts, and how old they are. */
function addKeys(registry: Registry, { statistics: { figures } }: LiveServices): void {
  const registers = [registry]
  new Gauge({
    name: 'pubring_keys',
    help: 'Registered keys, as last counted.',
    labelNames: ['algorithm', 'state'] as const,
    aggregator: 'max',
    registers,
    collect() {
      this.reset()
      for (const { algorithm, state, count } of figures().keys) {
        this.inc({ algorithm, state }, count)
      }
    },
  })
  new Gauge({
    name: 'pubring_warnings',
    help: 'Warnings about keys, projects and API keys, as last counted.',
    labelNames: ['code', 'severity'] as const,
    aggregator: 'max',
    registers,
    collect() {
      this.reset()
      for (const { code, severity, count } of figures().warnings) {
        this.set({ code, severity }, count)
      }
    },
  })
  addGauge(registry, () => figures().nextExpiry, {
    name: 'pubring_next_key_expiry_seconds',
    help: 'Time until the next active key expires, as last counted; absent if none does.',
    aggregator: 'min',
  })
  addGauge(registry, () => figures().ageSeconds, {
    name: 'pubring_keys_age_seconds',
    help: 'Time since the keys were last counted; absent before the first count.',
    aggregator: 'max',
  })
  addGauge(registry, () => Number(figures().hasFailed), {
    name: 'pubring_keys_count_failed',
    help: '1 if the last count of the keys failed, so that pubring_keys is outdated.',
    aggregator: 'max',
  })
}

function addStorage(registry: Registry, { context: { store } }: LiveServices): void {
  const isReadable = () =>
    store.ping().then(
      () => 1,
      () => 0,
    )
  addGauge(registry, isReadable, {
    name: 'pubring_storage_readable',
    help: '1 while the storage can be read, else 0.',
    aggregator: 'min',
  })
  addGauge(registry, () => (store.isWritable() ? 1 : 0), {
    name: 'pubring_storage_writable',
    help: '0 from a failed write until the next successful one, else 1.',
    aggregator: 'min',
  })
}
