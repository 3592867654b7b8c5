import { execFileSync } from 'node:child_process'
import { cpus, loadavg, release, totalmem } from 'node:os'
import process from 'node:process'

/** The machine, and the time of the measurement. */
export interface Machine {
  cpu: string
  cores: number
  memoryGib: number
  kernel: string
  node: string
  date: string
  /** Load average of the minute before the measurement. */
  load: number
  commit: string
}

export function machine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    date: new Date().toISOString().slice(0, 16),
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
    commit: commit(),
  }
}

/** With a plus if the sources differ from it. */
function commit(): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no', 'packages') !== ''
    return `${git('rev-parse', '--short', 'HEAD')}${changed ? '+' : ''}`
  } catch {
    return 'unknown'
  }
}
