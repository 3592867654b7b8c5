/**
 * What others feel while RSA keys of 4096 bits are registered as fast as they can be: the time that
 * the list of keys and the health page take, asked by another process, beside the same without load.
 *
 *   npm run bench:intake [rounds]
 */
import { type BusyRound, busyRounds, clients } from './busy-intake.ts'
import { machine } from './report/machine.ts'
import { createDatabases, startSubject } from './server/subject.ts'

function row(...cells: (string | number)[]): void {
  const texts = cells.map((cell) => (typeof cell === 'number' ? cell.toFixed(1) : cell))
  process.stdout.write(`${texts.map((text) => text.padStart(12)).join('')}\n`)
}

function rowOf({ load, keysPerSecond, list, health }: BusyRound): void {
  const slowest = Math.max(list.slowest, health.slowest)
  row(load, keysPerSecond, list.p50, list.p99, health.p50, health.p99, slowest)
}

const databases = createDatabases()
const subject = await startSubject(await databases.make('sqlite'))
try {
  const { cpu, cores, memoryGib, node, load } = machine()
  process.stdout.write(
    `${cpu}, ${cores} processors, ${memoryGib} GB, Node ${node}; load average before: ${load}\n` +
      `${clients} clients register, another process asks for list and health; milliseconds\n\n`,
  )
  row('load', 'keys/s', 'list p50', 'list p99', 'health p50', 'health p99', 'slowest')
  for await (const round of busyRounds(subject, Number(process.argv[2] ?? 3))) rowOf(round)
} finally {
  await subject.close()
  await databases.close()
}
