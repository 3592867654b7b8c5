import type { FastifyInstance } from 'fastify'
import { Counter, Gauge, type Registry } from 'prom-client'
import { createKeyStatistics, type KeyStatistics } from '../../core/keys/statistics.ts'
import type { LiveServices } from '../../core/publishing/live.ts'

/** Gauges collected at each scrape. Values of several workers are added unless `aggregator` is set. */
export function addGauges(registry: Registry, app: FastifyInstance, live: LiveServices): void {
  addKeys(registry, live)
  addStorage(registry, live)
  const registers = [registry]
  new Gauge({
    name: 'pubring_held_requests',
    help: 'Requests for key sets that are held until the key set changes.',
    registers,
    collect() {
      this.set(live.keySets.count())
    },
  })
  new Gauge({
    name: 'pubring_event_streams',
    help: 'Open event streams.',
    registers,
    collect() {
      this.set(live.events.count())
    },
  })
  new Gauge({
    name: 'pubring_open_connections',
    help: 'Open TCP connections.',
    registers,
    async collect() {
      this.set(await openConnections(app))
    },
  })
  addDropped(registry, app)
}

function addDropped(registry: Registry, app: FastifyInstance): void {
  const dropped = new Counter({
    name: 'pubring_dropped_connections_total',
    help: 'TCP connections closed at once because too many were open.',
    registers: [registry],
  })
  app.server.on('drop', () => dropped.inc())
}

function openConnections(app: FastifyInstance): Promise<number> {
  return new Promise((resolve, reject) => {
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })
}

/** All workers count the same keys. Reports nothing while the database is unavailable. */
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
  const registers = [registry]
  new Gauge({
    name: 'pubring_storage_readable',
    help: '1 while the storage can be read, else 0.',
    aggregator: 'min',
    registers,
    async collect() {
      this.set(
        await store.ping().then(
          () => 1,
          () => 0,
        ),
      )
    },
  })
  new Gauge({
    name: 'pubring_storage_writable',
    help: '0 from a failed write until the next successful one, else 1.',
    aggregator: 'min',
    registers,
    collect() {
      this.set(store.isWritable() ? 1 : 0)
    },
  })
}
