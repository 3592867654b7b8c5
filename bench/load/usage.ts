import { globSync, readFileSync } from 'node:fs'

/** Linux counts in hundredths of a second, whatever its own clock (USER_HZ). */
const microsPerTick = 10_000

/** The process, and those that it has started. */
export function withChildren(pid: number): number[] {
  const children = globSync(`/proc/${pid}/task/*/children`).flatMap((file) =>
    readFileSync(file, 'utf8').split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children]
}

/** Microseconds of CPU that the processes have used with all their threads, those that ended too. */
export function cpuMicros(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return sum + (Number(fields[11]) + Number(fields[12])) * microsPerTick
  }, 0)
}

/** MiB of memory that the processes have, pages that they share counted for each. */
export function residentMib(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const [, kib = '0'] =
      /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return sum + Number(kib) / 1_024
  }, 0)
}
