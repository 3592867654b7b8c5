import { connections } from '../config.ts'
import type { LoadGenerator } from '../load/client.ts'
import type { Figure } from '../report/figures.ts'
import { shuffled, spreadOf } from '../report/spread.ts'
import { captureCall } from '../server/capture.ts'
import { getRequest, type Registry } from './registry.ts'

const depths = { 'in the middle': 0.5, 'at the end': 0.99 }

/** Reads over all projects, whose cost may grow with their number; of the history until the time. */
const readsOverAll = (time: Date) => ({
  'a search': '/v1/search?q=bench-05',
  'a page of the history': `/v1/history?limit=50&to=${time.toISOString()}`,
  'the first page of health': '/v1/project-health?limit=50',
})

/**
 * Cost of a page of 50 projects deep in the list, relative to the first page, and of the reads over all
 * projects.
 */
export async function measurePages(
  generator: LoadGenerator,
  { server, projects }: Registry,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Figure[]> {
  const pathOfPage = (depth: number) =>
    `/v1/projects?limit=50&after=${projects[Math.floor(projects.length * depth)] ?? ''}`
  // Events of the server itself come later, and must not change the page.
  const overAll = Object.entries(readsOverAll(new Date()))
  const deep = Object.entries(depths).map(([name, depth]) => [name, pathOfPage(depth)] as const)
  const reads = await Promise.all(
    [['first', '/v1/projects?limit=50'] as const, ...deep, ...overAll].map(
      async ([name, path]) => ({
        name,
        calls: [await captureCall(server.port, getRequest(server, path))],
        samples: [] as number[],
      }),
    ),
  )
  const { port, pids } = server
  for (let round = -1; round < rounds; round += 1) {
    for (const { calls, samples } of shuffled(reads)) {
      const result = await generator.run({ port, pids, connections, calls, seconds })
      if (round >= 0) samples.push(result.cpuMicros / result.answered)
    }
  }
  const first = reads[0]?.samples ?? []
  return reads.slice(1).map(({ name, samples }): Figure => {
    if (!(name in depths)) {
      const value = spreadOf(samples.map((micros) => micros / 1_000))
      const target = { max: 20 }
      return { name, server: server.name, unit: 'ms', value, target, note: 'CPU per request' }
    }
    return {
      name: `page of 50 projects, ${name}`,
      server: server.name,
      unit: '×',
      value: spreadOf(samples.map((micros, round) => micros / (first[round] ?? Number.NaN))),
      target: { max: 1.2 },
      note: `over the first page of ${projects.length.toLocaleString('en')} projects: ${spreadOf(first).median.toFixed(0)} µs`,
    }
  })
}
