import type { LoadGenerator } from '../load/client.ts'
import type { Figure } from '../report/figures.ts'
import { shuffled, spreadOf } from '../report/spread.ts'
import { connections } from '../settings.ts'
import { get, known, type Registry } from './registry.ts'

const depths = { 'in the middle': 0.5, 'at the end': 0.99 }

/** What a page of 50 projects costs deep in the list, over the first page of the same list. */
export async function measurePages(
  generator: LoadGenerator,
  { subject, projects }: Registry,
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
      calls: await known(subject, get(subject, path)),
      samples: [0].slice(1),
    })),
  )
  const { port, pids } = subject
  for (let round = -1; round < rounds; round += 1) {
    for (const { calls, samples } of shuffled(pages)) {
      const result = await generator.run({ port, pids, connections, calls, seconds })
      if (round >= 0) samples.push(result.cpuMicros / result.answered)
    }
  }
  const [first, ...deep] = pages
  return deep.map(({ name, samples }) => ({
    name: `page of 50 projects, ${name}`,
    server: subject.name,
    unit: '×',
    value: spreadOf(samples.map((micros, round) => micros / (first?.samples[round] ?? Number.NaN))),
    target: { most: 1.2 },
    note: `over the first page of ${projects.length.toLocaleString('en')} projects: ${spreadOf(first?.samples ?? []).median.toFixed(0)} µs`,
  }))
}
