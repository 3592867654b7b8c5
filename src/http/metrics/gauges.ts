import type { FastifyInstance } from 'fastify'
import { Counter, Gauge, type GaugeConfiguration, type Registry } from 'prom-client'
import { createKeyStatistics, type KeyStatistics } from '../../core/keys/statistics.ts'
import type { LiveServices } from '../../core/publishing/live.ts'

/** Gauges collected at each scrape. The values of workers add up unless `aggregator` is set. */
export function addGauges(registry: Registry, app: FastifyInstance, live: LiveServices): void {
  addKeys(registry, live)
  addStorage(registry, live)
  addGauge(registry, live.damagedKeys.count, {
    name: 'pubring_damaged_keys',
    help: 'Stored keys that do not match their own hashes and are not published, as far as their key sets were requested.',
    aggregator: 'max',
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

function addGauge(
  registry: Registry,
  read: () => number | Promise<number>,
  options: Pick<GaugeConfiguration<string>, 'name' | 'help' | 'aggregator'>,
): void {
  new Gauge({
    ...options,
    registers: [registry],
    async collect() {
      this.set(await read())
    },
  })
}

function openConnections(app: FastifyInstance): Promise<number> {
  return new Promise((resolve, reject) => {
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })
}

/** Every worker counts the same keys. Reports nothing while the database is unavailable. */
function addKeys(registry: Registry, { context }: LiveServices): void {
  const readStatistics = createKeyStatistics(context)
  const statistics = () => readStatistics().catch((): KeyStatistics => ({ keys: [] }))
  const registers = [registry]
  new Gauge({
    name: 'pubring_keys',
    help: 'Registered keys.',
    labelNames: ['algorithm', 'state'] as const,
    aggregator: 'max',
    registers,
    async collect() {
      const { keys } = await statistics()
      this.reset()
      for (const { algorithm, state, count } of keys) this.inc({ algorithm, state }, count)
    },
  })
  new Gauge({
    name: 'pubring_next_key_expiry_seconds',
    help: 'Time until the next active key expires; absent if none does.',
    aggregator: 'min',
    registers,
    async collect() {
      const { nextExpiry } = await statistics()
      if (nextExpiry === undefined) this.remove()
      else this.set(nextExpiry)
    },
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
