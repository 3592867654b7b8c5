/**
 * The cost of each operation, compared with the least that a Node service can cost, measured in the
 * same minutes; bench/results/README.md describes the method. Prints tables, with progress on
 * stderr, and writes the figures of each part to bench/results/PART.json, with --quick to
 * quick-PART.json.
 *
 *   npm run bench [-- --quick] [--part reads|misses|cold|creates|exchanges|processes|hostile] [--rounds 10]
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { type BenchConfig, connections, full, quick } from './config.ts'
import { measureBusyIntake } from './creates/busy-intake.ts'
import { measureEcCreates } from './creates/ec-creates.ts'
import { measureImports } from './creates/imports.ts'
import { measureRsaCreates } from './creates/rsa-creates.ts'
import { measurePieces } from './hostile/pieces.ts'
import { startGenerator } from './load/client.ts'
import { measureExchanges } from './processes/exchanges.ts'
import { measureRevocations } from './processes/revocations.ts'
import { measureStarts } from './processes/starts.ts'
import { measureColdFill } from './reads/cold-fill.ts'
import { loggingOverSilence } from './reads/logging.ts'
import { measureMisses } from './reads/misses.ts'
import { type BenchContext, measureReads, type PreparedServer } from './reads/reads.ts'
import { writeDocs } from './report/docs.ts'
import type { Figure } from './report/figures.ts'
import { machine } from './report/machine.ts'
import { type Results, saveResults } from './report/results.ts'
import { resultsText } from './report/table.ts'
import { startBaseline } from './server/baseline.ts'
import { createDatabases, type Databases, type Engine } from './server/databases.ts'
import { createFixtures } from './server/fixtures.ts'
import { type BenchServer, startServer } from './server/start.ts'

const engines: Engine[] = ['sqlite', 'postgres']
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    part: { type: 'string' },
    rounds: { type: 'string' },
  },
})
const defaults = values.quick ? quick : full
const config: BenchConfig = { ...defaults, rounds: Number(values.rounds ?? defaults.rounds) }

const startTime = performance.now()
function progress(text: string): void {
  const seconds = ((performance.now() - startTime) / 1_000).toFixed(0)
  process.stderr.write(`${seconds.padStart(5)} s  ${text}\n`)
}

/** Servers of each kind, each on a database of its own. */
async function startServers(databases: Databases): Promise<BenchServer[]> {
  const servers: BenchServer[] = []
  for (const engine of engines) {
    servers.push(await startServer(await databases.create(engine)))
  }
  return servers
}

interface Part {
  /** How much is measured, in words. */
  scope: string
  measure(context: BenchContext, databases: Databases): Promise<Pick<Results, 'reads' | 'figures'>>
}

const parts: Record<string, Part> = {
  reads: {
    scope: `${config.rounds} shuffled rounds of ${config.seconds} s for each line, ${connections} connections; medians, with the quartiles in brackets. p50 and p99 at half of the requests/s.`,
    async measure(context, databases) {
      const servers = await startServers(databases)
      if (config.measureLogging) {
        servers.push(await startServer(await databases.create('sqlite'), { logs: true }))
      }
      const prepared: PreparedServer[] = await Promise.all(
        servers.map(async (server) => ({ server, fixtures: await createFixtures(server.replica) })),
      )
      const reads = await measureReads(context, prepared)
      await Promise.all(servers.map((server) => server.close()))
      return { reads, figures: loggingOverSilence(reads) }
    },
  },
  misses: {
    scope: `${config.rounds} rounds of ${config.missesPerRound} requests, each for another of 10,000 projects of ten P-256 keys, from ${connections} connections; medians, with the quartiles in brackets.`,
    async measure({ generator }, databases) {
      return { reads: [], figures: await measureMisses(generator, config, databases, engines) }
    },
  },
  cold: {
    scope: `${config.starts} starts for each line, one request for each of 2,000 projects of ten P-256 keys from 200 connections; medians, with the quartiles in brackets.`,
    async measure({ generator }, databases) {
      return { reads: [], figures: await measureColdFill(generator, config, databases) }
    },
  },
  creates: {
    scope: `${config.rounds} shuffled rounds: of ${config.ecKeys} P-256 keys from ${connections} connections, of ${config.rsaKeys} RSA-2048 keys from 4, of imports of ${config.importKeys} keys; medians, with the quartiles in brackets.`,
    async measure({ generator }, databases) {
      const servers = await startServers(databases)
      const figures = await measureEcCreates(generator, config, servers)
      progress('RSA-2048')
      figures.push(...(await measureRsaCreates(generator, config, servers)))
      progress('imports')
      figures.push(...(await measureImports(config, servers)))
      progress('lists while RSA-4096 keys are registered')
      for (const server of servers.filter(({ engine }) => engine === 'sqlite')) {
        figures.push(...(await measureBusyIntake(server, config.busyRounds)))
      }
      await Promise.all(servers.map((server) => server.close()))
      return { reads: [], figures }
    },
  },
  exchanges: {
    scope: `${config.exchanges} token exchanges from 16 connections, with API keys of a minute.`,
    async measure(_context, databases) {
      const figures: Figure[] = []
      for (const engine of engines) {
        progress(`token exchanges, ${engine}`)
        figures.push(...(await measureExchanges(databases, engine, config)))
      }
      return { reads: [], figures }
    },
  },
  processes: {
    scope: `${config.starts} starts of each; medians, with the quartiles in brackets.`,
    async measure(_context, databases) {
      const figures: Figure[] = []
      for (const engine of engines) {
        figures.push(...(await measureStarts(databases, engine, config)))
      }
      progress('revocations')
      figures.push(await measureRevocations(databases, config.revocations))
      return { reads: [], figures }
    },
  },
  hostile: {
    scope:
      'The dearest of some fifty bodies of every operation of the OpenAPI document, by the longest piece of CPU time without a pause of the event loop.',
    async measure(_context, databases) {
      return { reads: [], figures: await measurePieces(await databases.create('sqlite'), progress) }
    },
  },
}

async function run(name: string): Promise<void> {
  const part = parts[name]
  if (part === undefined) throw new Error(`--part is one of: ${Object.keys(parts).join(', ')}.`)
  progress(name)
  const measuredOn = machine()
  const databases = createDatabases()
  const context = { generator: startGenerator(), baseline: await startBaseline(), config }
  try {
    const measured = await part.measure(context, databases)
    const results = { machine: measuredOn, scope: part.scope, ...measured }
    saveResults(values.quick ? `quick-${name}` : name, results)
    writeDocs()
    process.stdout.write(`${resultsText(results)}\n\n`)
  } finally {
    context.generator.close()
    context.baseline.close()
    await databases.close()
  }
}

for (const name of values.part === undefined ? Object.keys(parts) : [values.part]) {
  await run(name)
}
