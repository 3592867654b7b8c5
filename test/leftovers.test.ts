import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { expect, onTestFinished, test } from 'vitest'

const watcher = join(import.meta.dirname, 'support/setup/watcher.ts')
const endless = ['--eval', 'setInterval(() => {}, 60_000); console.log("started")']

test('the watcher of a run ends what works in its folder or names it, and nothing else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pubring-run-'))
  const below = join(folder, 'below')
  mkdirSync(below)
  const start = async (cwd: string, ...args: string[]) => {
    const child = spawn(process.execPath, [...endless, ...args], { cwd })
    await once(child.stdout, 'data')
    return child
  }
  const elsewhere = import.meta.dirname
  const left = [await start(elsewhere, join(folder, 'file'))]
  // Elsewhere a working directory cannot be read.
  if (existsSync('/proc/self/cwd')) left.push(await start(below))
  const other = await start(elsewhere)
  onTestFinished(() => void other.kill())
  const ended = left.map((child) => once(child, 'exit'))
  const run = spawn(process.execPath, [watcher, folder], { stdio: ['pipe', 'ignore', 'inherit'] })
  run.stdin.end()
  expect(await once(run, 'exit')).toEqual([0, null])
  expect(await Promise.all(ended)).toEqual(left.map(() => [null, 'SIGKILL']))
  expect(existsSync(folder)).toBe(false)
  expect([other.exitCode, other.signalCode]).toEqual([null, null])
})
