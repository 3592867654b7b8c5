import { setTimeout as delay } from 'node:timers/promises'
import { prepare } from './answer.ts'
import { createDesk } from './desk.ts'
import { openLane } from './lane.ts'
import type { LoadResult, LoadTask } from './task.ts'
import { cpuMicros } from './usage.ts'

/** Makes the requests, and checks every answer. Rejects where one is wrong, or none comes. */
export async function runLoad(task: LoadTask): Promise<LoadResult> {
  const { port, connections, pids } = task
  const desk = createDesk(task.calls.map(prepare), task)
  const lanes = await Promise.all(Array.from({ length: connections }, () => openLane(port, desk)))
  const cpuBefore = cpuMicros(pids)
  const began = performance.now()
  desk.begin(lanes)
  const end = task.seconds === undefined ? [] : [delay(task.seconds * 1_000)]
  await Promise.race([desk.drained, ...end])
  const answered = desk.times.length
  const seconds = (performance.now() - began) / 1_000
  const cpu = cpuMicros(pids) - cpuBefore
  desk.stop()
  await desk.drained
  for (const lane of lanes) lane.close()
  const latency = percentiles(desk.times.slice(0, answered))
  return { answered, seconds, cpuMicros: cpu, latency, bodies: desk.bodies }
}

function percentiles(times: number[]): LoadResult['latency'] {
  const sorted = Float64Array.from(times).sort()
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
  return { p50: at(0.5), p99: at(0.99), slowest: sorted.at(-1) ?? 0 }
}
