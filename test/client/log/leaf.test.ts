import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { utf8 } from '../../../packages/client/src/log/encoding.ts'
import {
  bucketDepth,
  emptySubtree,
  mapLeaf,
  mapRoot,
} from '../../../packages/client/src/log/heads-map.ts'
import { leafHash } from '../../../packages/client/src/log/index.ts'
import {
  blindedLedgerId,
  entryKey,
  formatEntry,
  type LogEntry,
  parseEntry,
} from '../../../packages/client/src/log/leaf.ts'

const entry: LogEntry = {
  ledger: 'a'.repeat(64),
  revision: 12,
  head: 'b'.repeat(64),
  time: '2026-01-31T12:00:00.000Z',
}

test('an entry is JSON with sorted members', () => {
  const text = `{"head":"${entry.head}","ledger":"${entry.ledger}","revision":12,"time":"${entry.time}"}`
  expect(new TextDecoder().decode(formatEntry(entry))).toBe(text)
  expect(parseEntry(utf8(text))).toEqual(entry)
  const heads = { heads: entry.head, time: entry.time }
  expect(parseEntry(formatEntry(heads))).toEqual(heads)
})

test.each([
  ['that is no JSON', 'leaf'],
  ['without a head', JSON.stringify({ ...entry, head: undefined })],
  ['with a short hash', JSON.stringify({ ...entry, ledger: 'aa' })],
  ['with its members in another order', JSON.stringify(entry)],
  ['with another member', JSON.stringify({ head: entry.head, ledger: entry.ledger, x: 1 })],
  ['of revision 0', new TextDecoder().decode(formatEntry({ ...entry, revision: 0 }))],
  ['that is null', 'null'],
  ['of all ledgers with a short hash', '{"heads":"aa","time":""}'],
  ['of all ledgers and of one', JSON.stringify({ heads: entry.head, ...entry })],
])('an entry %s is rejected', (_name, text) => {
  expect(() => parseEntry(utf8(text))).toThrow(expect.objectContaining({ code: 'malformed' }))
})

test('entries of one ledger have nothing in common for those who lack its blinding value', async () => {
  const blinding = new Uint8Array(32).fill(7)
  const ids = await Promise.all(
    [1, 2].map(async (revision) =>
      blindedLedgerId(await entryKey(blinding, revision), 'a-ledger-id'),
    ),
  )
  const expected = [1, 2].map((revision) => {
    const key = hash('sha256', Buffer.concat([blinding, Buffer.from(`${revision}`)]), 'buffer')
    return hash('sha256', Buffer.concat([key, Buffer.from('a-ledger-id')]))
  })
  expect(ids).toEqual(expected)
  expect(new Set(ids).size).toBe(2)
})

test('the entry and the map that docs/ledger.md shows are made as it says', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/ledger.md'), 'utf8')
  const shown = (name: string) => new RegExp(`^${name} +(.*)$`, 'm').exec(page)?.[1] ?? ''
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  const bytes = utf8(shown('entry'))
  const parsed = parseEntry(bytes)
  if (!('ledger' in parsed)) return expect.fail('not the entry of a ledger')
  const ledgerId = shown('ledgerId')
  const key = await entryKey(new Uint8Array(32).fill(7), parsed.revision)
  expect(await blindedLedgerId(key, ledgerId)).toBe(parsed.ledger)
  expect(String(parsed.revision)).toBe(shown('revision'))
  const hash = await leafHash(bytes)
  expect(hex(hash)).toBe(shown('leaf hash'))
  const leaf = await mapLeaf({ ledgerId, key, entry: hash })
  expect(hex(leaf.slot)).toBe(shown('slot'))
  expect(hex(leaf.hash)).toBe(shown('map leaf'))
  const path = Array.from({ length: bucketDepth }, () => emptySubtree)
  const heads = parseEntry(utf8(shown('last entry')))
  expect(heads).toMatchObject({ heads: hex(await mapRoot(leaf, path)) })
})
