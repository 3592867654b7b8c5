import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { cpuMicros } from '../load/usage.ts'
import type { Figure } from '../report/figures.ts'
import { spreadOf } from '../report/spread.ts'
import { type Database, engineNames } from '../server/databases.ts'

const program = join(import.meta.dirname, '../../bin/pubring.js')

/** CPU time and the highest memory of `check`, and on SQLite of `backup`, which replay all ledgers. */
export async function measureCommands(database: Database): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-bench-'))
  const file = join(folder, 'backup.db')
  const commands = database.engine === 'sqlite' ? [['check'], ['backup', file]] : [['check']]
  const figures: Figure[] = []
  for (const [name = '', ...rest] of commands) {
    const { cpuSeconds, mib } = await run([name, ...rest, '--database-url', database.url])
    const server = engineNames[database.engine]
    const note = 'of the command; it replays all ledgers'
    figures.push(
      { name: `pubring ${name}, CPU`, server, unit: 's', value: spreadOf([cpuSeconds]), note },
      { name: `pubring ${name}, memory`, server, unit: 'MiB', value: spreadOf([mib]), note },
    )
  }
  rmSync(folder, { recursive: true })
  return figures
}

async function run(args: string[]): Promise<{ cpuSeconds: number; mib: number }> {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const { pid = 0 } = child
  let [micros, kib] = [0, 0]
  while (child.exitCode === null) {
    try {
      micros = cpuMicros([pid])
      const [, peak = '0'] =
        /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
      kib = Math.max(kib, Number(peak))
    } catch {
      // It has ended since.
    }
    await delay(100)
  }
  if (child.exitCode !== 0) throw new Error(`pubring ${args[0]} ended with ${child.exitCode}.`)
  return { cpuSeconds: micros / 1_000_000, mib: kib / 1_024 }
}
