import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Launch } from '../server/process.ts'

/** How a server is started so that a test can put its clock and end its threads. */
export function faultInjection(folder: string): {
  env: Record<string, string>
  launch: Launch
  /** Resolves once the server has seen it. */
  set(what: { shift?: number; killWriter?: number }): Promise<void>
} {
  const file = join(folder, 'faults.json')
  return {
    env: { FAULT_FILE: file },
    launch: { node: ['--import', join(import.meta.dirname, 'preload.ts')] },
    async set(what) {
      writeFileSync(`${file}.new`, JSON.stringify(what))
      renameSync(`${file}.new`, file)
      await delay(150)
    },
  }
}
