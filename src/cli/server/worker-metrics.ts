import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import process from 'node:process'
import { createWorkerMetrics, type ProcessMetrics } from '../../http/metrics/worker-metrics.ts'

/** The request for a worker's metrics, and the member of the reply that holds them. */
const request = 'metrics'

/** How long a worker may take to reply; after that its last reply is used. */
const replyTimeoutMs = 2_000

/** In a worker: replies to the parent's requests. */
export function sendMetricsToParent(metrics: () => Promise<ProcessMetrics>): void {
  process.on('message', (message) => {
    if (message === request) void metrics().then((all) => process.send?.({ [request]: all }))
  })
}

/** In the parent: collects the metrics of all workers, as text for Prometheus. */
export function collectMetrics(liveWorkers: () => Worker[]): () => Promise<string> {
  const total = createWorkerMetrics(() => liveWorkers().length)
  cluster.on('exit', (worker) => total.retire(worker.id))
  cluster.on('message', (worker, message: unknown) => {
    if (isReply(message)) total.record(worker.id, message[request])
  })
  return async () => {
    const connected = liveWorkers().filter((worker) => worker.isConnected())
    await Promise.all(connected.map(requestMetrics))
    return total.text()
  }
}

/** Resolves after the worker's next message, which is the reply, its exit or the timeout. */
async function requestMetrics(worker: Worker): Promise<void> {
  const signal = AbortSignal.timeout(replyTimeoutMs)
  const ends = ['message', 'exit'].map((event) => once(worker, event, { signal }))
  worker.send(request)
  await Promise.race(ends).catch(() => undefined)
}

function isReply(message: unknown): message is { [request]: ProcessMetrics } {
  return typeof message === 'object' && message !== null && request in message
}
