import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client'

/** All that one process has counted, as it goes from a worker to its parent. */
export type ProcessMetrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

interface CrewMetrics {
  /** What a worker says now. */
  note(worker: number, metrics: ProcessMetrics): void
  /** The worker has ended: what it last said that it had counted stays, so that no sum falls. */
  retire(worker: number): void
  /** All workers as one. */
  text(): Promise<string>
}

/** Adds up what the workers count. `size`: how many there are at the moment. */
export function createCrewMetrics(size: () => number): CrewMetrics {
  const living = new Map<number, ProcessMetrics>()
  let retired: Promise<ProcessMetrics> = Promise.resolve([])
  const own = new Registry()
  const ended = new Counter({
    name: 'pubring_workers_ended_total',
    help: 'Workers that ended and had to be replaced.',
    registers: [own],
  })
  new Gauge({
    name: 'pubring_workers',
    help: 'Workers that run.',
    registers: [own],
    collect() {
      this.set(size())
    },
  })
  return {
    note: (worker, metrics) => void living.set(worker, metrics),
    retire(worker) {
      ended.inc()
      const last = living.get(worker)?.filter(isCount) ?? []
      living.delete(worker)
      retired = retired.then((before) => sum([before, last]).getMetricsAsJSON())
    },
    async text() {
      const all = [...living.values(), await retired]
      return `${await sum(all).metrics()}\n${await own.metrics()}`
    },
  }
}

function sum(all: ProcessMetrics[]): Registry {
  return AggregatorRegistry.aggregate(all)
}

/** What only ever grows. */
function isCount({ type }: ProcessMetrics[number]): boolean {
  return ['counter', 'histogram'].includes(String(type))
}
