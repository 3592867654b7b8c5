/**
 * What each operation costs the server, beside the least that a Node service can cost, measured in
 * the same minutes: docs/performance.md says how. Tables are on stdout, progress on stderr; each part
 * keeps its figures in bench/results/PART.json, with --quick in quick-PART.json.
 *
 *   npm run bench [-- --quick] [--part reads|creates|processes] [--rounds 10]
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { measureBusyIntake } from './busy-intake.ts'
import { measureEcCreates } from './creates/ec-creates.ts'
import { measureRsaCreates } from './creates/rsa-creates.ts'
import { startGenerator } from './load/client.ts'
import { type Bench, measureReads, type Stocked } from './reads.ts'
import type { Figure, ReadFigure } from './report/figures.ts'
import { machine } from './report/machine.ts'
import { saveResults } from './report/results.ts'
import { resultsText } from './report/table.ts'
import { measureRevocations } from './revocations.ts'
import { startFloor } from './server/floor-process.ts'
import {
  createDatabases,
  type Databases,
  type Engine,
  type Subject,
  startSubject,
} from './server/subject.ts'
import { connections, type Extent, full, quick } from './settings.ts'
import { stockShelf } from './shelf.ts'
import { measureStarts } from './starts.ts'
import { workersOverOne } from './workers.ts'

const engines: Engine[] = ['sqlite', 'postgres']
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    part: { type: 'string' },
    rounds: { type: 'string' },
  },
})
const usual = values.quick ? quick : full
const extent: Extent = { ...usual, rounds: Number(values.rounds ?? usual.rounds) }

const began = performance.now()
function progress(what: string): void {
  process.stderr.write(
    `${((performance.now() - began) / 1_000).toFixed(0).padStart(5)} s  ${what}\n`,
  )
}

/** Servers of each kind, all on databases of their own. */
async function startSubjects(databases: Databases): Promise<Subject[]> {
  const subjects: Subject[] = []
  for (const engine of engines) {
    for (const workers of extent.workers) {
      subjects.push(await startSubject(await databases.make(engine), { workers }))
    }
  }
  return subjects
}

interface Found {
  reads: ReadFigure[]
  figures: Figure[]
}

const parts: Record<string, (bench: Bench, databases: Databases) => Promise<Found>> = {
  async reads(bench, databases) {
    const subjects = await startSubjects(databases)
    if (extent.logging) {
      subjects.push(await startSubject(await databases.make('sqlite'), { logs: true }))
    }
    const stocked: Stocked[] = []
    for (const subject of subjects) {
      stocked.push({ subject, shelf: await stockShelf(subject.replica) })
    }
    const reads = await measureReads(bench, stocked)
    await Promise.all(subjects.map((subject) => subject.close()))
    return { reads, figures: workersOverOne(reads) }
  },
  async creates({ generator }, databases) {
    const subjects = await startSubjects(databases)
    const single = subjects.filter(({ workers }) => workers === 1)
    const figures = await measureEcCreates(generator, extent, subjects)
    progress('RSA-2048')
    figures.push(...(await measureRsaCreates(generator, extent, single)))
    progress('lists while RSA-4096 keys are registered')
    for (const subject of single.filter(({ engine }) => engine === 'sqlite')) {
      figures.push(...(await measureBusyIntake(subject, extent.busyRounds)))
    }
    await Promise.all(subjects.map((subject) => subject.close()))
    return { reads: [], figures }
  },
  async processes(_bench, databases) {
    const figures: Figure[] = []
    for (const engine of engines) figures.push(...(await measureStarts(databases, engine, extent)))
    progress('revocations')
    figures.push(await measureRevocations(databases, extent.revocations))
    return { reads: [], figures }
  },
}

const extents: Record<string, string> = {
  reads: `${extent.rounds} shuffled rounds of ${extent.seconds} s for each line, ${connections} connections; medians, with the quartiles in brackets. p50 and p99 at half of the requests/s.`,
  creates: `${extent.rounds} shuffled rounds: of ${extent.ecKeys} P-256 keys from ${connections} connections, of ${extent.rsaKeys} RSA-2048 keys from 4; medians, with the quartiles in brackets.`,
  processes: `${extent.starts} starts of each; medians, with the quartiles in brackets.`,
}

async function measure(part: string): Promise<void> {
  progress(part)
  const where = machine()
  const databases = createDatabases()
  const bench: Bench = { generator: startGenerator(), floor: await startFloor(), extent }
  try {
    const found = await parts[part]?.(bench, databases)
    if (found === undefined) throw new Error(`--part is one of: ${Object.keys(parts).join(', ')}.`)
    const results = { machine: where, extent: extents[part] ?? '', ...found }
    saveResults(values.quick ? `quick-${part}` : part, results)
    process.stdout.write(`${resultsText(results)}\n\n`)
  } finally {
    bench.generator.close()
    bench.floor.close()
    await databases.close()
  }
}

for (const part of values.part === undefined ? Object.keys(parts) : [values.part]) {
  await measure(part)
}
