import { globSync, readFileSync } from 'node:fs'

/** Linux counts CPU time in hundredths of a second (USER_HZ), also if its own clock is finer. */
const microsPerTick = 10_000

/** The process and its child processes. */
export function withChildren(pid: number): number[] {
  const children = globSync(`/proc/${pid}/task/*/children`).flatMap((file) =>
    readFileSync(file, 'utf8').split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children]
}

/** Microseconds of CPU that the processes have used, in all threads, including finished ones. */
export function cpuMicros(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return sum + (Number(fields[11]) + Number(fields[12])) * microsPerTick
  }, 0)
}

/** Resident memory of the processes in MiB; shared pages count for each. */
export function residentMib(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const [, kib = '0'] =
      /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return sum + Number(kib) / 1_024
  }, 0)
}
