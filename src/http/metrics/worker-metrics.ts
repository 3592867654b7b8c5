import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client'

/** The metrics of one process, as a worker sends them to its parent. */
export type ProcessMetrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** Adds up the metrics of all workers; `countWorkers` counts the running ones. */
export function createWorkerMetrics(countWorkers: () => number) {
  const latest = new Map<number, ProcessMetrics>()
  let retired: Promise<ProcessMetrics> = Promise.resolve([])
  const own = new Registry()
  const ended = new Counter({
    name: 'pubring_workers_ended_total',
    help: 'Workers that ended and had to be replaced.',
    registers: [own],
  })
  new Gauge({
    name: 'pubring_workers',
    help: 'Running workers.',
    registers: [own],
    collect() {
      this.set(countWorkers())
    },
  })
  return {
    /** Replaces the worker's latest metrics. */
    record: (worker: number, metrics: ProcessMetrics) => void latest.set(worker, metrics),
    /** Keeps the counters of an exited worker, so that totals never decrease. */
    retire(worker: number): void {
      ended.inc()
      const last = latest.get(worker)?.filter(isCumulative) ?? []
      latest.delete(worker)
      retired = retired.then((earlier) =>
        AggregatorRegistry.aggregate([earlier, last]).getMetricsAsJSON(),
      )
    },
    /** The sums over all workers, in the text format of Prometheus. */
    async text(): Promise<string> {
      const all = [...latest.values(), await retired]
      return `${await AggregatorRegistry.aggregate(all).metrics()}\n${await own.metrics()}`
    },
  }
}

function isCumulative({ type }: ProcessMetrics[number]): boolean {
  return ['counter', 'histogram'].includes(String(type))
}
