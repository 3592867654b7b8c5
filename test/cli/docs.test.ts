import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cliDocument, commandHelps } from '../../scripts/cli-document.ts'

test('docs/cli.md is up to date (npm run generate)', () => {
  const file = join(import.meta.dirname, '../../docs/cli.md')
  expect(readFileSync(file, 'utf8')).toBe(cliDocument())
})

test('the help of every command has an example', () => {
  const helps = commandHelps()
  expect(helps.size).toBeGreaterThan(30)
  for (const [name, help] of helps) expect(help, name).toMatch(/\nExamples?:\n {2}\$ /)
})
