import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cliDocument } from '../../scripts/cli-document.ts'

const document = cliDocument()

test('docs/cli.md is up to date (npm run generate)', () => {
  const file = join(import.meta.dirname, '../../docs/cli.md')
  expect(readFileSync(file, 'utf8')).toBe(document)
})

test('the help of every command has an example', () => {
  const helps = [...document.matchAll(/^### `(.*)`\n\n```text\n([\s\S]*?)\n```/gm)]
  expect(helps.length).toBeGreaterThan(30)
  for (const [, name, help] of helps) expect(help, name).toMatch(/\nExamples?:\n {2}\$ /)
})
