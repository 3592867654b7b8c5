import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  statfsSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import chromium from '@sparticuz/chromium'

/** Several times what a run writes at once, in bytes. */
const enoughMemory = 8 * 1024 ** 3

/**
 * Memory, where Linux has enough of it and lets programs run from there: a database of PostgreSQL is made
 * many times faster than on a disk. Elsewhere, the folder of the system.
 */
function temporaryFolder(): string {
  const mounts = existsSync('/proc/mounts') ? readFileSync('/proc/mounts', 'utf8') : ''
  if (!/ \/dev\/shm tmpfs (?!.*\bnoexec\b)/.test(mounts)) return tmpdir()
  const { bavail, bsize } = statfsSync('/dev/shm')
  const free = Math.min(bavail * bsize, process.availableMemory())
  return free < enoughMemory ? tmpdir() : '/dev/shm'
}

/**
 * Gives the run a folder for temporary files, inherited by its workers. It goes when the run ends in
 * whichever way, with all processes that work in it.
 */
export async function setup(): Promise<() => Promise<void>> {
  const folder = realpathSync(mkdtempSync(join(temporaryFolder(), 'pubring-run-')))
  // PostgreSQL and unprivileged servers run as other users.
  chmodSync(folder, 0o711)
  // Files that are unpacked and compiled once stay for the next run.
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache')
  symlinkSync(await chromium.executablePath(), join(folder, 'chromium'))
  process.env.TMPDIR = folder
  const watcher = spawn(process.execPath, [join(import.meta.dirname, 'watcher.ts'), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  watcher.unref()
  return async () => {
    if (watcher.exitCode !== null) return
    const ended = once(watcher, 'exit')
    watcher.ref()
    watcher.stdin.end()
    await ended
  }
}
