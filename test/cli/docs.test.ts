import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { settings } from '../../packages/server/src/config/server-settings.ts'
import { cliDocument, commandHelps } from '../../scripts/cli-document.ts'
import { openShell } from './support.ts'

test('docs/cli.md is up to date (npm run generate)', () => {
  const file = join(import.meta.dirname, '../../docs/cli.md')
  expect(readFileSync(file, 'utf8')).toBe(cliDocument())
})

test('the help of every command has an example', () => {
  const helps = commandHelps()
  expect(helps.size).toBeGreaterThan(30)
  for (const [name, help] of helps) expect(help, name).toMatch(/\nExamples?:\n {2}\$ /)
})

test('the help of serve explains what most need on one screen, and names every setting', async () => {
  const { stdout } = await openShell(() => ({})).pubring(['serve', '--help'], { columns: 80 })
  expect(stdout.split('\n').length).toBeLessThanOrEqual(60)
  const words = new Set(stdout.split(/[\s,.[\]]+/))
  const names = Object.values(settings).map(({ flag, env }) => flag ?? env)
  expect(names.filter((name) => !words.has(name))).toEqual([])
})
