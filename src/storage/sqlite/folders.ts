import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes the folder, and those that it is in, for their owner alone. Throws what the system says.
 * `mkdirSync` with `recursive` never ends where a file system answers ENOENT for what cannot be made
 * (`/proc`), hence one step at a time.
 */
export function makePrivateFolder(folder: string): void {
  if (existsSync(folder)) return
  makePrivateFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Made by another process meanwhile.
    if (!existsSync(folder)) throw error
  }
}
