import { setTimeout as delay } from 'node:timers/promises'
import { openConnection } from './connection.ts'
import { createDispatcher } from './dispatcher.ts'
import { prepareCall } from './response.ts'
import type { Latency, LoadResult, LoadTask } from './task.ts'
import { cpuMicros } from './usage.ts'

/**
 * Sends the requests and checks every response, until the task's time is over or `stopped` resolves.
 * Rejects if a response is wrong or none arrives.
 */
export async function runLoad(task: LoadTask, stopped?: Promise<void>): Promise<LoadResult> {
  const { port, connections, pids } = task
  const dispatcher = createDispatcher(task.calls.map(prepareCall), task)
  const opened = await Promise.all(
    Array.from({ length: connections }, () => openConnection(port, dispatcher)),
  )
  const cpuBefore = cpuMicros(pids)
  const start = performance.now()
  dispatcher.start(opened)
  const ends: Promise<unknown>[] = [dispatcher.drained]
  if (task.seconds !== undefined) ends.push(delay(task.seconds * 1_000))
  if (stopped !== undefined) ends.push(stopped)
  await Promise.race(ends)
  const answered = dispatcher.latencies.length
  const seconds = (performance.now() - start) / 1_000
  const cpu = cpuMicros(pids) - cpuBefore
  dispatcher.stop()
  await dispatcher.drained
  for (const connection of opened) connection.close()
  const latency = percentiles(dispatcher.latencies.slice(0, answered))
  return { answered, seconds, cpuMicros: cpu, latency, bodies: dispatcher.bodies }
}

function percentiles(latencies: number[]): Latency {
  const sorted = Float64Array.from(latencies).sort()
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
  return { p50: at(0.5), p99: at(0.99), slowest: sorted.at(-1) ?? 0 }
}
