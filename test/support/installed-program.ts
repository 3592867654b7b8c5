import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { endLater } from './ending.ts'
import { waitUntil } from './waiting.ts'

/** A program that runs in a folder of its own. */
export interface InstalledProgram {
  /** Its standard error so far. */
  errors(): string
  close(): Promise<void>
}

/**
 * Starts the program of the Debian package of the same name, with the files in its folder, and waits
 * until it answers. Rejects with the name of the package if it is not installed.
 */
export async function startInstalled(
  name: string,
  args: string[],
  files: Record<string, string>,
  isAnswering: () => Promise<boolean>,
): Promise<InstalledProgram> {
  const folder = mkdtempSync(join(tmpdir(), `pubring-${name}-`))
  // Some run as another user.
  chmodSync(folder, 0o755)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
  const child = spawn(name, args, {
    cwd: folder,
    env: { PATH: `${process.env.PATH}:/usr/sbin`, HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  await once(child, 'spawn').catch((cause) => {
    throw new Error(`${name} cannot be started: apt-get install ${name}`, { cause })
  })
  const close = endLater(async () => {
    process.off('exit', kill)
    if (child.exitCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    }
    rmSync(folder, { recursive: true })
  })
  await waitUntil(async () => {
    if (child.exitCode !== null) throw new Error(`${name} has ended:\n${errors}`)
    return isAnswering().catch(() => false)
  })
  return { errors: () => errors, close }
}
