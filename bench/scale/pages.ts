import { connections } from '../config.ts'
import type { LoadGenerator } from '../load/client.ts'
import type { Figure } from '../report/figures.ts'
import { shuffled, spreadOf } from '../report/spread.ts'
import { captureCall } from '../server/capture.ts'
import { getRequest, type Registry } from './registry.ts'

const depths = { 'in the middle': 0.5, 'at the end': 0.99 }

/** Cost of a page of 50 projects deep in the list, relative to the first page. */
export async function measurePages(
  generator: LoadGenerator,
  { server, projects }: Registry,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Figure[]> {
  const after = (depth: number) => projects[Math.floor(projects.length * depth)] ?? ''
  const paths = Object.entries(depths).map(([name, depth]) => ({
    name,
    path: `/v1/projects?limit=50&after=${after(depth)}`,
  }))
  const all = [{ name: 'first', path: '/v1/projects?limit=50' }, ...paths]
  const pages = await Promise.all(
    all.map(async ({ name, path }) => ({
      name,
      calls: [await captureCall(server.port, getRequest(server, path))],
      samples: [] as number[],
    })),
  )
  const { port, pids } = server
  for (let round = -1; round < rounds; round += 1) {
    for (const { calls, samples } of shuffled(pages)) {
      const result = await generator.run({ port, pids, connections, calls, seconds })
      if (round >= 0) samples.push(result.cpuMicros / result.answered)
    }
  }
  const [first, ...deep] = pages
  return deep.map(({ name, samples }) => ({
    name: `page of 50 projects, ${name}`,
    server: server.name,
    unit: '×',
    value: spreadOf(samples.map((micros, round) => micros / (first?.samples[round] ?? Number.NaN))),
    target: { max: 1.2 },
    note: `over the first page of ${projects.length.toLocaleString('en')} projects: ${spreadOf(first?.samples ?? []).median.toFixed(0)} µs`,
  }))
}
