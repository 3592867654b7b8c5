import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import type { ServerProcess } from './process.ts'

const main = join(import.meta.dirname, '../../../bin/pubring.js')

export interface CommandResult {
  code: number
  stdout: string
  stderr: string
}

/** Runs `pubring …` in the folder. */
export async function pubring(where: string, ...args: string[]): Promise<CommandResult> {
  const env = { PATH: process.env.PATH }
  return promisify(execFile)(process.execPath, [main, ...args], { cwd: where, env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  )
}

export async function stopServer(server: ServerProcess): Promise<void> {
  server.signal('SIGTERM')
  expect(await server.ended).toBe(0)
}
