import { type BenchConfig, connections } from '../config.ts'
import { fillRegistry } from '../fill/registry.ts'
import type { LoadGenerator } from '../load/client.ts'
import type { Call } from '../load/task.ts'
import type { Figure, Target } from '../report/figures.ts'
import { shuffled, spreadOf } from '../report/spread.ts'
import { openRegistry } from '../scale/registry.ts'
import { capture } from '../server/capture.ts'
import { serverCores } from '../server/cores.ts'
import type { Databases, Engine } from '../server/databases.ts'
import { type BenchServer, startServer } from '../server/start.ts'

/** More key sets than a process keeps, so that none is in memory when its turn comes again. */
const size = { keys: 100_000, projects: 10_000 }
const targets: Record<Engine, Target> = { sqlite: { max: 80 }, postgres: { max: 130 } }

interface Subject {
  server: BenchServer
  hit: Call[]
  /** The requests of each round, in the order of the projects. */
  misses: Call[][]
  /** Microseconds, in each round. */
  hits: number[]
  missed: number[]
}

/** The CPU time of key sets that are not in memory, and its ratio to that of one that is. */
export async function measureMisses(
  generator: LoadGenerator,
  { rounds, missesPerRound, seconds }: BenchConfig,
  databases: Databases,
  engines: readonly Engine[],
): Promise<Figure[]> {
  const subjects: Subject[] = []
  for (const engine of engines) {
    const database = await databases.create(engine)
    await fillRegistry(database.url, size, () => {})
    subjects.push(await prepare(await startServer(database), missesPerRound))
  }
  // The first round is a warm-up.
  for (let round = -1; round < rounds; round += 1) {
    for (const subject of shuffled(subjects)) {
      const { server, hit, misses, hits, missed } = subject
      const task = { port: server.port, pids: server.pids, connections }
      const calls = misses[(round + 1) % misses.length] ?? []
      const [miss, same] = [
        await generator.run({ ...task, calls }),
        await generator.run({ ...task, calls: hit, seconds }),
      ]
      if (round < 0) continue
      missed.push(miss.cpuMicros / miss.answered)
      hits.push(same.cpuMicros / same.answered)
    }
  }
  for (const { server } of subjects) await server.close()
  return subjects.flatMap(figuresOf)
}

async function prepare(server: BenchServer, count: number): Promise<Subject> {
  server.pin(serverCores)
  const { projects } = await openRegistry(server)
  const get = (project: string) => ({
    method: 'GET',
    path: `/v1/projects/${project}/.well-known/jwks.json`,
    headers: {},
  })
  const [any = ''] = projects
  const length = Buffer.byteLength((await capture(server.port, get(any))).body)
  const calls = projects.map((id) => ({ ...get(id), expected: { status: 200, length } }))
  const misses = Array.from({ length: Math.floor(calls.length / count) }, (_, index) =>
    calls.slice(index * count, (index + 1) * count),
  )
  return { server, hit: calls.slice(0, 1), misses, hits: [], missed: [] }
}

function figuresOf({ server, hits, missed }: Subject): Figure[] {
  const name = 'key set that is not in memory'
  const ratios = missed.map((micros, round) => micros / (hits[round] ?? Number.NaN))
  return [
    {
      name,
      server: server.name,
      unit: 'µs',
      value: spreadOf(missed),
      target: targets[server.engine],
      note: 'CPU per request',
    },
    {
      name,
      server: server.name,
      unit: '×',
      value: spreadOf(ratios),
      target: { max: 4 },
      note: 'CPU per request over that of a key set in memory',
    },
  ]
}
