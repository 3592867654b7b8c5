import type { FastifyInstance } from 'fastify'
import { Counter, Gauge, type Registry } from 'prom-client'
import { createKeyStatistics, type KeyStatistics } from '../../core/keys/statistics.ts'
import type { Live } from '../../core/publishing/live.ts'

/** What is read when Prometheus asks. Of several workers the numbers are added, unless it says otherwise. */
export function addGauges(registry: Registry, app: FastifyInstance, live: Live): void {
  addCensus(registry, live)
  addStorage(registry, live)
  const registers = [registry]
  new Gauge({
    name: 'pubring_held_requests',
    help: 'Requests for key sets that wait for news.',
    registers,
    collect() {
      this.set(live.keySets.count())
    },
  })
  new Gauge({
    name: 'pubring_event_streams',
    help: 'Event streams that are open.',
    registers,
    collect() {
      this.set(live.events.count())
    },
  })
  new Gauge({
    name: 'pubring_open_connections',
    help: 'TCP connections of clients.',
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
    help: 'TCP connections that were closed at once, as there were too many.',
    registers: [registry],
  })
  app.server.on('drop', () => dropped.inc())
}

function openConnections(app: FastifyInstance): Promise<number> {
  return new Promise((resolve, reject) => {
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })
}

/** All workers count the same keys. While the database is away there is nothing to tell. */
function addCensus(registry: Registry, { context }: Live): void {
  const takeCensus = createKeyStatistics(context)
  const census = () => takeCensus().catch((): KeyStatistics => ({ keys: [] }))
  const registers = [registry]
  new Gauge({
    name: 'pubring_keys',
    help: 'Registered keys.',
    labelNames: ['algorithm', 'state'] as const,
    aggregator: 'max',
    registers,
    async collect() {
      const { keys } = await census()
      this.reset()
      for (const { algorithm, state, count } of keys) this.inc({ algorithm, state }, count)
    },
  })
  new Gauge({
    name: 'pubring_next_key_expiry_seconds',
    help: 'Until the next active key expires; absent where none does.',
    aggregator: 'min',
    registers,
    async collect() {
      const { nextExpiry } = await census()
      if (nextExpiry === undefined) this.remove()
      else this.set(nextExpiry)
    },
  })
}

function addStorage(registry: Registry, { context: { store } }: Live): void {
  const registers = [registry]
  new Gauge({
    name: 'pubring_storage_readable',
    help: '1 while what is stored can be read, else 0.',
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
    help: '1 while changes can be written, 0 once one could not, until one can again.',
    aggregator: 'min',
    registers,
    collect() {
      this.set(store.isWritable() ? 1 : 0)
    },
  })
}
