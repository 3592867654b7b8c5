import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Launch } from '../server/process.ts'

/**
 * Starts the server in a mount namespace of its own, with a small in-memory file system at `data`.
 * Linux only: for root, and for others if the system allows user namespaces.
 */
export function launchOnSmallDisk(megabytes: number): Launch {
  const isRoot = process.getuid?.() === 0
  const user = isRoot ? [] : ['--user', '--map-root-user']
  const options = `size=${megabytes}m,mode=700`
  const script = `mkdir -p data && mount -t tmpfs -o ${options} tmpfs data && exec "$@"`
  return { wrapper: ['unshare', '--mount', ...user, 'sh', '-ec', script, 'sh'] }
}

/** The data folder in the namespace of the process. */
export function dataFolderOf(pid: number, folder: string): string {
  return join(`/proc/${pid}/root`, folder, 'data')
}

/** Writes to a file until the disk is full; returns a function that frees the space. */
export function fillDisk(folder: string): () => void {
  const file = join(folder, 'filler')
  for (const size of [1 << 20, 1 << 12, 1]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: 'a' })
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
    }
  }
  return () => rmSync(file)
}
