import cluster, { type Worker } from 'node:cluster'
import process from 'node:process'
import { createCrewMetrics, type ProcessMetrics } from '../../http/metrics/worker-metrics.ts'

/** Asks a worker for its metrics. */
const question = 'metrics'

/** Milliseconds that a worker may take to answer; then its last answer stands. */
const patience = 2_000

/** In a worker: answers the parent. */
export function tellMetrics(metrics: () => Promise<ProcessMetrics>): void {
  process.on('message', (message) => {
    if (message === question) void metrics().then((all) => process.send?.({ [question]: all }))
  })
}

/** In the parent: asks all workers, and answers with the text for Prometheus. */
export function gatherMetrics(workers: () => Worker[]): () => Promise<string> {
  const crew = createCrewMetrics(() => workers().length)
  cluster.on('exit', (worker) => crew.retire(worker.id))
  cluster.on('message', (worker, message: unknown) => {
    if (isAnswer(message)) crew.note(worker.id, message[question])
  })
  return async () => {
    const connected = workers().filter((worker) => worker.isConnected())
    await Promise.all(connected.map(ask))
    return crew.text()
  }
}

/** Resolves with the answer, and without it when the worker ends or patience does. */
function ask(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      worker.off('message', hear)
      worker.off('exit', done)
      resolve()
    }
    const hear = (message: unknown) => {
      if (isAnswer(message)) done()
    }
    const timer = setTimeout(done, patience)
    worker.on('message', hear).once('exit', done)
    worker.send(question)
  })
}

function isAnswer(message: unknown): message is { [question]: ProcessMetrics } {
  return typeof message === 'object' && message !== null && question in message
}
