import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

test('the example of a proven list in docs/ledger.md has these digests', () => {
  const page = readFileSync(new URL('../../docs/ledger.md', import.meta.url), 'utf8')
  const [, block = ''] = /\n(list {7}\[[\s\S]*?)```/.exec(page) ?? []
  const {
    list,
    previous,
    content,
    published,
    hash: expected,
  } = Object.fromEntries(
    block
      .trim()
      .split('\n')
      .map((line) => line.split(/ +/)),
  )
  expect(JSON.parse(published).list).toBe(hash('sha256', list, 'base64url'))
  expect(hash('sha256', `${previous}\n${content}\n${published}`)).toBe(expected)
})
