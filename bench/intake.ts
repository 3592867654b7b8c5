/**
 * Latencies of the list of keys and the health page while RSA-4096 keys are registered as fast as
 * possible, and without that load.
 *
 *   npm run bench:intake [rounds]
 */
import { type BusyRound, busyRounds, clients } from './creates/busy-intake.ts'
import { machine } from './report/machine.ts'
import { createDatabases } from './server/databases.ts'
import { startServer } from './server/start.ts'

function row(...cells: (string | number)[]): void {
  const texts = cells.map((cell) => (typeof cell === 'number' ? cell.toFixed(1) : cell))
  process.stdout.write(`${texts.map((text) => text.padStart(12)).join('')}\n`)
}

function rowOf({ load, keysPerSecond, list, health }: BusyRound): void {
  const slowest = Math.max(list.slowest, health.slowest)
  row(load, keysPerSecond, list.p50, list.p99, health.p50, health.p99, slowest)
}

const databases = createDatabases()
const server = await startServer(await databases.create('sqlite'))
try {
  const { cpu, cores, memoryGib, node, load } = machine()
  process.stdout.write(
    `${cpu}, ${cores} processors, ${memoryGib} GB, Node ${node}; load average before: ${load}\n` +
      `${clients} clients register, other processes request list and health; milliseconds\n\n`,
  )
  row('load', 'keys/s', 'list p50', 'list p99', 'health p50', 'health p99', 'slowest')
  for await (const round of busyRounds(server, Number(process.argv[2] ?? 3))) rowOf(round)
} finally {
  await server.close()
  await databases.close()
}
