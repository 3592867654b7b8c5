import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

const last = availableParallelism() - 1

/** The load generator runs on the last core, the server on the first. */
export const generatorCores = String(last)
export const serverCores = '0'
export const allCores = `0-${last}`

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
