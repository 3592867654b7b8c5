/**
 * Costs of a large registry relative to a small one: lists, key sets and creates in one project and in
 * random projects, pages of projects, reads over all projects, memory, start and checks. Fills both
 * databases first, unless `--large` names one that `bench:fill` has filled. Prints a table, and writes the
 * figures to bench/results/scale-ENGINE.json, or with fewer than a million keys to
 * quick-scale-ENGINE.json.
 *
 *   npm run bench:scale -- --engine sqlite [--keys 1000000] [--large sqlite:/tmp/large.db]
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { fillRegistry, type Size } from './fill/registry.ts'
import { type LoadGenerator, startGenerator } from './load/client.ts'
import { residentMib } from './load/usage.ts'
import { measureStart } from './processes/starts.ts'
import type { Figure } from './report/figures.ts'
import { machine } from './report/machine.ts'
import { saveResults } from './report/results.ts'
import { shuffled, spreadOf } from './report/spread.ts'
import { resultsText } from './report/table.ts'
import { type Benchmark, createBenchmarks, createTools } from './scale/benchmarks.ts'
import { measureCommands } from './scale/commands.ts'
import { measureIdle } from './scale/idle.ts'
import { measureWithHeapLimit, memoryFigure } from './scale/memory.ts'
import { measurePages } from './scale/pages.ts'
import { openRegistry, type Registry } from './scale/registry.ts'
import { serverCores } from './server/cores.ts'
import { createDatabases, type Database, type Engine, engineNames } from './server/databases.ts'
import { startServer } from './server/start.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    keys: { type: 'string', default: '1000000' },
    large: { type: 'string' },
    rounds: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '2' },
  },
})
const engine: Engine = values.engine === 'postgres' ? 'postgres' : 'sqlite'
const keysPerProject = 10
const keys = Number(values.keys)
const config = { rounds: Number(values.rounds), seconds: Number(values.seconds) }
const starts = 5
/** CPU of a read of a project that is not in memory. */
const maxMissMicros = { sqlite: 80, postgres: 130 }
const small: Size = { keys: 1_000, projects: 1_000 / keysPerProject }
const large: Size = { keys, projects: keys / keysPerProject }

const progress = (text: string) => process.stderr.write(`${text}\n`)
const formatted = (count: number) => count.toLocaleString('en')

async function fill(database: Database, size: Size): Promise<Database> {
  await fillRegistry(database.url, size, (done) => {
    if (done % 100_000 < 10_000)
      progress(`filled ${formatted(done)} of ${formatted(size.keys)} keys`)
  })
  return database
}

/** Compares the large registry with the small one, round by round. */
async function measureAccess(generator: LoadGenerator, few: Registry, many: Registry) {
  const tools = createTools(generator, config.seconds)
  const withSamples = async (registry: Registry) =>
    (await createBenchmarks(tools, registry)).map((benchmark) => ({
      benchmark,
      samples: [] as number[],
    }))
  const small = await withSamples(few)
  const large = await withSamples(many)
  const memory: number[] = []
  try {
    // The first round is a warm-up.
    for (let round = -1; round < config.rounds; round += 1) {
      for (const { benchmark, samples } of shuffled([...small, ...large])) {
        const micros = await benchmark.run()
        if (round >= 0) samples.push(micros)
        memory.push(residentMib(many.server.pids))
      }
      progress(`round ${round + 1} of ${config.rounds}`)
    }
  } finally {
    await tools.keys.close()
  }
  const figures = small.map(({ benchmark, samples }, index) =>
    comparison(benchmark, samples, large[index]?.samples ?? []),
  )
  return { figures, memory: Math.max(...memory) }
}

function comparison(
  { operation, access, registry }: Benchmark,
  few: number[],
  many: number[],
): Figure {
  const [before, after] = [few, many].map((samples) => spreadOf(samples).median.toFixed(0))
  const name = `${operation}, ${access === 'hot' ? 'the same projects' : 'any project'}`
  const server = registry.server.name
  if (access === 'random' && !operation.startsWith('create')) {
    const target = { max: maxMissMicros[engine] }
    const note = `CPU per request, most of which read the database; ${before} µs from memory`
    return { name, server, unit: 'µs', value: spreadOf(many), target, note }
  }
  return {
    name,
    server,
    unit: '×',
    value: spreadOf(many.map((micros, round) => micros / (few[round] ?? Number.NaN))),
    target: { max: access === 'hot' ? 1.2 : 2 },
    note: `CPU per request, ${after} µs over ${before} µs`,
  }
}

async function measureLargeStart(database: Database): Promise<Figure> {
  const times: number[] = []
  for (let count = 0; count < starts; count += 1) times.push((await measureStart(database)).ms)
  return {
    name: 'start to ready',
    server: engineNames[engine],
    unit: 'ms',
    value: spreadOf(times),
    target: { max: 1_500 },
    note: 'from the start of the process to the first 200 of /health/ready',
  }
}

async function measureAll(): Promise<Figure[]> {
  const databases = createDatabases()
  const generator = startGenerator()
  try {
    const few = await fill(await databases.create(engine), small)
    const many =
      values.large === undefined
        ? await fill(await databases.create(engine), large)
        : { engine, url: values.large }
    const servers = [await startServer(few), await startServer(many)] as const
    try {
      for (const server of servers) server.pin(serverCores)
      progress('servers are ready')
      const [a, b] = [await openRegistry(servers[0]), await openRegistry(servers[1])]
      const pages = await measurePages(generator, b, config)
      const { figures, memory } = await measureAccess(generator, a, b)
      figures.push(...pages, memoryFigure('', b.server.name, memory))
      for (const server of servers) await server.close()
      figures.push(await measureWithHeapLimit(generator, many, config))
      figures.push(await measureLargeStart(many), ...(await measureIdle(many)))
      return [...figures, ...(await measureCommands(many))]
    } finally {
      for (const server of servers) await server.close()
    }
  } finally {
    generator.close()
    await databases.close()
  }
}

const measuredOn = machine()
const figures = await measureAll()
const text = `${formatted(large.keys)} P-256 keys in ${formatted(large.projects)} projects compared with ${formatted(small.keys)} in ${formatted(small.projects)}; ${config.rounds} shuffled rounds of ${config.seconds} s (creates: of 320), 32 connections.`
const results = { machine: measuredOn, scope: text, reads: [], figures }
saveResults(`${keys < 1_000_000 ? 'quick-' : ''}scale-${engine}`, results)
process.stdout.write(`${resultsText(results)}\n`)
