/**
 * Cost of signing the log of a registry with a million events in 100,000 ledgers: CPU of this process
 * (with the writing thread of SQLite, without a PostgreSQL server) and its memory. The first runs append
 * the heads of all ledgers. The rows are made up.
 *
 *   npm run bench:log [-- postgres]
 */

import { generateKeyPairSync, hash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import process from 'node:process'
import { openLogSigner } from '../packages/cli/src/server/log-key.ts'
import { maxHeadsPerRun } from '../packages/server/src/features/log/log.ts'
import { signCheckpoint } from '../packages/server/src/features/log/signing.ts'
import { eventTable, ledgerTable } from '../packages/server/src/kernel/ledger/stored.ts'
import { insertRows, openCopyEndpoint } from '../packages/server/src/kernel/storage/copy.ts'
import { newId } from '../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../packages/server/src/registry.ts'
import { systemClock } from '../packages/server/src/runtime/clock.ts'
import { createDatabases } from './server/databases.ts'

const [ledgers, eventsPerLedger, ledgersPerStatement] = [100_000, 10, 50]
const print = (line: string) => process.stdout.write(`${line}\n`)

async function fill(url: string): Promise<void> {
  await (await openStore(url)).close()
  const { db, commit, close } = await openCopyEndpoint(url, 'target')
  for (let ledger = 0; ledger < ledgers; ledger += ledgersPerStatement) {
    const ids = Array.from({ length: ledgersPerStatement }, () => newId())
    await insertRows(
      db,
      ledgerTable,
      ids.map((id) => headOf(id, eventsPerLedger)),
    )
    await insertRows(db, eventTable, ids.flatMap(firstEventsOf))
    if (ledger % 10_000 === 0) await commit()
  }
  await commit()
  await close()
}

const headOf = (id: string, revision: number) => {
  return { project_id: id, revision, hash: hash('sha256', `${id} ${revision}`) }
}

const firstEventsOf = (id: string) =>
  Array.from({ length: eventsPerLedger }, (_, index) => eventOf(id, index + 1))

function eventOf(id: string, revision: number) {
  return {
    ...headOf(id, revision),
    type: 'key.updated',
    time: new Date().toISOString(),
    actor_name: 'bench:log',
    subject_type: 'key',
    subject_id: id,
    request_id: id,
  }
}

/** Moves the heads of this many ledgers, as a change of each would. */
async function move(url: string, count: number): Promise<void> {
  const { db, commit, close } = await openCopyEndpoint(url, 'target')
  const step = Math.floor(ledgers / count)
  const rows = await db
    .selectFrom('ledger')
    .select(['project_id', 'revision'])
    .orderBy('project_id')
    .execute()
  for (const row of rows.filter((_, index) => index % step === 0).slice(0, count)) {
    const next = eventOf(row.project_id, row.revision + 1)
    const { project_id: id, revision, hash } = next
    await insertRows(db, eventTable, [next])
    await db.updateTable('ledger').set({ revision, hash }).where('project_id', '=', id).execute()
  }
  await commit()
  await close()
}

const engine = process.argv.includes('postgres') ? 'postgres' : 'sqlite'
const databases = createDatabases()
const { url } = await databases.create(engine)
print(`Filling ${engine} with ${ledgers * eventsPerLedger} events in ${ledgers} ledgers.`)
await fill(url)

const keyFile = join(mkdtempSync(join(tmpdir(), 'pubring-bench-')), 'log.key')
const { privateKey } = generateKeyPairSync('ed25519')
writeFileSync(keyFile, privateKey.export({ format: 'pem', type: 'pkcs8' }))
const signer = openLogSigner({ databaseUrl: 'postgres://', logKeyFile: keyFile }, { create: false })
if (signer === undefined) throw new Error('no signer')
const store = await openStore(url)
const context = {
  store,
  clock: systemClock,
  config: { publicUrl: 'https://keys.example.com' },
}
print('moved heads | seconds | CPU s | longest pause of the event loop, ms | memory, MiB')
const firstRuns = Array.from({ length: ledgers / maxHeadsPerRun }, () => maxHeadsPerRun)
for (const [run, moved] of [...firstRuns, 0, 1, 100, 10_000, 0].entries()) {
  if (moved > 0 && run >= firstRuns.length) await move(url, moved)
  const pauses = monitorEventLoopDelay({ resolution: 1 })
  pauses.enable()
  const [start, usage] = [performance.now(), process.cpuUsage()]
  await signCheckpoint(context, signer, { maxHeads: maxHeadsPerRun })
  const { user, system } = process.cpuUsage(usage)
  pauses.disable()
  const seconds = (performance.now() - start) / 1_000
  const memory = process.memoryUsage.rss() / 2 ** 20
  const figures = [seconds, (user + system) / 1e6].map((value) => value.toFixed(2))
  print([moved, ...figures, (pauses.max / 1e6).toFixed(0), memory.toFixed(0)].join(' | '))
}
await store.close()
await databases.close()
rmSync(dirname(keyFile), { recursive: true })
