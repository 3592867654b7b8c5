/**
 * Ends whatever a run leaves behind. Its standard input is open as long as the run lives, however
 * that ends; then it kills every process that works in the run's folder, and deletes the folder.
 */
import { execFileSync } from 'node:child_process'
import { readlinkSync, rmSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'

const [, , folder = ''] = process.argv
if (!folder.includes('/pubring-run-')) throw new Error(`not the folder of a run: ${folder}`)

/** The processes whose command or working directory names the folder. */
function left(): number[] {
  const listed = execFileSync('ps', ['-axww', '-o', 'pid=,command='], { encoding: 'utf8' })
  return listed.split('\n').flatMap((line) => {
    const [, pid = '', command = ''] = /^ *(\d+) (.*)$/.exec(line) ?? []
    const names = command.includes(folder) || workingFolder(pid).startsWith(folder)
    return names && Number(pid) !== process.pid ? [Number(pid)] : []
  })
}

/** The working directory of a process; empty where the system has no /proc. */
function workingFolder(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
for await (const _ of process.stdin);
for (let round = 0; round < 100; round += 1) {
  const pids = left()
  if (pids.length === 0) break
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended since it was listed.
    }
  }
  await delay(100)
}
rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
