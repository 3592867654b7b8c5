import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createHook, runCommand } from '../../packages/agents/src/hook.ts'
import { temporaryFolder } from '../support/server/process.ts'
import { waitUntil } from '../support/waiting.ts'

test('a command that the system refuses to start is a failure like others', async () => {
  const command = `: ${'x'.repeat(140_000)}`
  expect(await runCommand({ command, timeoutMs: 60_000 }, {})).toContain('E2BIG')
})

test('more projects than fit in a variable are named in several runs', async () => {
  const log = join(temporaryFolder().folder, 'log')
  const projects = Array.from({ length: 4_000 }, () => randomUUID())
  const controller = new AbortController()
  onTestFinished(() => controller.abort())
  const problems: string[] = []
  const run = createHook({
    command: `echo "$PROJECTS" >> ${log}`,
    environment: (some) => ({ PROJECTS: some.join(' ') }),
    timeoutMs: 60_000,
    signal: controller.signal,
    onProblem: (problem) => problems.push(problem),
  })
  run(projects)
  const named = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split(/\s/) : [])
  await waitUntil(() => named().length === projects.length)
  expect([named(), problems]).toEqual([projects, []])
})
