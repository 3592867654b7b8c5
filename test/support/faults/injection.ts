import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Launch } from '../server/process.ts'

/** Options to start a server whose clock and threads a test can manipulate. */
export function faultInjection(folder: string): {
  env: Record<string, string>
  launch: Launch
  /** Resolves after the server has read it. */
  set(faults: { shift?: number; killWriter?: number; eio?: boolean }): Promise<void>
} {
  const file = join(folder, 'faults.json')
  return {
    env: { FAULT_FILE: file },
    launch: { node: ['--import', join(import.meta.dirname, 'preload.ts')] },
    async set(faults) {
      writeFileSync(`${file}.new`, JSON.stringify(faults))
      renameSync(`${file}.new`, file)
      await delay(150)
    },
  }
}
