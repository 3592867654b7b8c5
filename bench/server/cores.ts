import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

const cores = availableParallelism()
const last = cores - 1

/** The last core makes the requests, the first one serves where one is enough. */
export const generatorCores = String(last)
export const allCores = `0-${last}`

/** Where so many serving processes run: beside the load generator if there is room. */
export function serverCores(workers: number): string {
  if (workers === 1) return '0'
  return workers < cores ? `0-${last - 1}` : allCores
}

/** Whether so many serving processes and the load generator have a core each. */
export function haveCoresEach(workers: number): boolean {
  return workers < cores
}

/** Confines the processes with all their threads, now and to come, to those cores (util-linux). */
export function pin(pids: readonly number[], list: string): void {
  for (const pid of pids) {
    execFileSync('taskset', ['--all-tasks', '--pid', '--cpu-list', list, String(pid)], {
      stdio: 'ignore',
    })
  }
}
