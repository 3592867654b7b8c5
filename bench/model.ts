/**
 * The numbers from which docs/scaling.md works out what a size needs: CPU of key sets and of held
 * requests, and bytes of keys and events. Prints a table, and writes the figures to
 * bench/results/model.json; `npm run bench:docs` computes the tables of docs/scaling.md from them.
 *
 *   npm run bench:model
 */
import process from 'node:process'
import { fillRegistry } from './fill/registry.ts'
import { startGenerator } from './load/client.ts'
import { withChildren } from './load/usage.ts'
import { measureKeySets } from './model/key-sets.ts'
import { measureStorage, usageOf } from './model/storage.ts'
import type { Figure } from './report/figures.ts'
import { machine } from './report/machine.ts'
import { saveResults } from './report/results.ts'
import { resultsText } from './report/table.ts'
import { serverCores } from './server/cores.ts'
import { createDatabases, type Engine, startPostgres } from './server/databases.ts'
import { startServer } from './server/start.ts'

const size = { keys: 100_000, projects: 10_000 }
const measuredOn = machine()
const generator = startGenerator()
const databases = createDatabases()
const postgres = await startPostgres()
let count = 0

async function newDatabase(engine: Engine) {
  if (engine === 'sqlite') return databases.create(engine)
  count += 1
  await postgres.query(`create database model_${count}`)
  return { engine, url: postgres.url(`model_${count}`) }
}

async function postgresPid(): Promise<number> {
  const [row] = await postgres.query(
    "select split_part(pg_read_file('postmaster.pid'), E'\\n', 1) as pid",
  )
  return Number(row?.pid)
}

async function measureEngine(engine: Engine): Promise<Figure[]> {
  const stored = await newDatabase(engine)
  const small = await startServer(stored)
  const storage = await measureStorage(generator, small, usageOf(engine, stored.url, postgres))
  await small.close()
  const filled = await newDatabase(engine)
  await fillRegistry(filled.url, size, () => {})
  const server = await startServer(filled)
  server.pin(serverCores)
  const pid = await postgresPid()
  const databasePids = () => (engine === 'sqlite' ? [] : withChildren(pid))
  const keySets = await measureKeySets(generator, { server, databasePids })
  await server.close()
  return [...keySets, ...storage]
}

try {
  const figures = [...(await measureEngine('sqlite')), ...(await measureEngine('postgres'))]
  const scope =
    'One run: 10,000 projects of ten P-256 keys; 1,000 held requests; 2,000 keys registered, deactivated and deleted.'
  const results = { machine: measuredOn, scope, reads: [], figures }
  saveResults('model', results)
  process.stdout.write(`${resultsText(results)}\n`)
} finally {
  generator.close()
  await postgres.remove()
  await databases.close()
}
