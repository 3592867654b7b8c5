/**
 * What a large registry costs more than a small one, in one run: lists, key sets and creates of one
 * project and of any, pages of projects, memory and start. Fills both databases first, unless the
 * address of one that `bench:fill` has filled is given. The table is on stdout; the figures go to
 * bench/results/scale-ENGINE.json, or with fewer than a million keys to quick-scale-ENGINE.json.
 *
 *   npm run bench:scale -- --engine sqlite [--keys 1000000] [--large sqlite:/tmp/large.db]
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { fillRegistry, type Size } from './fill/registry.ts'
import { type LoadGenerator, startGenerator } from './load/client.ts'
import { residentMib } from './load/usage.ts'
import type { Figure } from './report/figures.ts'
import { machine } from './report/machine.ts'
import { saveResults } from './report/results.ts'
import { shuffled, spreadOf } from './report/spread.ts'
import { resultsText } from './report/table.ts'
import { type Contender, contendersOf, createTools } from './scale/contenders.ts'
import { measureBounded, memoryFigure } from './scale/memory.ts'
import { measurePages } from './scale/pages.ts'
import { openRegistry, type Registry } from './scale/registry.ts'
import { serverCores } from './server/cores.ts'
import {
  createDatabases,
  type Database,
  type Engine,
  engineNames,
  startSubject,
} from './server/subject.ts'
import { start } from './starts.ts'

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
const extent = { rounds: Number(values.rounds), seconds: Number(values.seconds) }
const starts = 5
const small: Size = { keys: 1_000, projects: 1_000 / keysPerProject }
const large: Size = { keys, projects: keys / keysPerProject }

const progress = (what: string) => process.stderr.write(`${what}\n`)
const counted = (count: number) => count.toLocaleString('en')

async function filled(database: Database, size: Size): Promise<Database> {
  await fillRegistry(database.url, size, (done) => {
    if (done % 100_000 < 10_000) progress(`filled ${counted(done)} of ${counted(size.keys)} keys`)
  })
  return database
}

/** The large registry over the small one, round by round. */
async function measureAccess(generator: LoadGenerator, few: Registry, many: Registry) {
  const tools = createTools(generator, extent.seconds)
  const pairs = (await contendersOf(tools, few)).map((contender) => ({
    contender,
    samples: [0].slice(1),
  }))
  const others = (await contendersOf(tools, many)).map((contender) => ({
    contender,
    samples: [0].slice(1),
  }))
  const memory: number[] = []
  try {
    for (let round = -1; round < extent.rounds; round += 1) {
      for (const { contender, samples } of shuffled([...pairs, ...others])) {
        const micros = await contender.run()
        if (round >= 0) samples.push(micros)
        memory.push(residentMib(many.subject.pids))
      }
      progress(`round ${round + 1} of ${extent.rounds}`)
    }
  } finally {
    await tools.keys.close()
  }
  const figures = pairs.map(({ contender, samples }, index) =>
    comparison(contender, samples, others[index]?.samples ?? []),
  )
  return { figures, memory: Math.max(...memory) }
}

function comparison(
  { operation, access, registry }: Contender,
  few: number[],
  many: number[],
): Figure {
  const [before, after] = [few, many].map((samples) => spreadOf(samples).median.toFixed(0))
  return {
    name: `${operation}, ${access === 'hot' ? 'the same projects' : 'any project'}`,
    server: registry.subject.name,
    unit: '×',
    value: spreadOf(many.map((micros, round) => micros / (few[round] ?? Number.NaN))),
    target: { most: access === 'hot' ? 1.2 : 2 },
    note: `CPU per request, ${after} µs over ${before} µs`,
  }
}

async function measureStart(database: Database): Promise<Figure> {
  const times: number[] = []
  for (let count = 0; count < starts; count += 1) times.push((await start(database)).ms)
  return {
    name: 'start to ready',
    server: engineNames[engine],
    unit: 'ms',
    value: spreadOf(times),
    target: { most: 1_500 },
    note: 'from the start of the process to the first 200 of /health/ready',
  }
}

async function measureAll(): Promise<Figure[]> {
  const databases = createDatabases()
  const generator = startGenerator()
  try {
    const few = await filled(await databases.make(engine), small)
    const many =
      values.large === undefined
        ? await filled(await databases.make(engine), large)
        : { engine, url: values.large }
    const subjects = [await startSubject(few), await startSubject(many)] as const
    try {
      for (const subject of subjects) subject.pin(serverCores(1))
      progress('servers are ready')
      const [a, b] = [await openRegistry(subjects[0]), await openRegistry(subjects[1])]
      const pages = await measurePages(generator, b, extent)
      const { figures, memory } = await measureAccess(generator, a, b)
      figures.push(...pages, memoryFigure('', b.subject.name, memory))
      for (const subject of subjects) await subject.close()
      figures.push(await measureBounded(generator, many, extent))
      return [...figures, await measureStart(many)]
    } finally {
      for (const subject of subjects) await subject.close()
    }
  } finally {
    generator.close()
    await databases.close()
  }
}

const where = machine()
const figures = await measureAll()
const text = `${counted(large.keys)} P-256 keys in ${counted(large.projects)} projects beside ${counted(small.keys)} in ${counted(small.projects)}; ${extent.rounds} shuffled rounds of ${extent.seconds} s (creates: of 320), 32 connections.`
const results = { machine: where, extent: text, reads: [], figures }
saveResults(`${keys < 1_000_000 ? 'quick-' : ''}scale-${engine}`, results)
process.stdout.write(`${resultsText(results)}\n`)
