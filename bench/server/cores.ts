import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

const cores = availableParallelism()
const last = cores - 1

/** The load generator runs on the last core, a single server process on the first. */
export const generatorCores = String(last)
export const allCores = `0-${last}`

/** Cores for a server with this many workers: without the generator's if there are enough. */
export function serverCores(workers: number): string {
  if (workers === 1) return '0'
  return workers < cores ? `0-${last - 1}` : allCores
}

/** Whether this many workers and the load generator have a core each. */
export function haveCoresEach(workers: number): boolean {
  return workers < cores
}

/** Restricts the processes and all their threads, present and future, to the cores (util-linux). */
export function pin(pids: readonly number[], list: string): void {
  for (const pid of pids) pinProcess(pid, list, 3)
}

/** taskset fails if a thread ends between being listed and being pinned. */
function pinProcess(pid: number, list: string, attempts: number): void {
  const args = ['--all-tasks', '--pid', '--cpu-list', list, String(pid)]
  try {
    execFileSync('taskset', args, { stdio: 'ignore' })
  } catch (error) {
    if (attempts === 1) throw error
    pinProcess(pid, list, attempts - 1)
  }
}
