import { describe, expect, test } from 'vitest'
import { readCsv } from '../../src/cli/import/sources/csv.ts'
import { readContent } from '../../src/cli/import/sources/read.ts'
import { ecKey } from '../support/keys/pem.ts'

const publicKey = ecKey().publicKeyPem.replace(/-----[^-]+-----|\s/g, '')
const table = (...lines: string[]) => lines.join('\n')

describe('a hand-written table', () => {
  test('needs only the required columns, in any order; semicolons and a byte order mark are fine', () => {
    const text = table('\uFEFFpublicKey;label;active', `${publicKey};spring;true`, ';;', '')
    const entries = readContent(Buffer.from(text), 'keys.csv')
    expect(entries).toEqual([
      { place: 'keys.csv, row 2', label: 'spring', key: expect.objectContaining({ active: true }) },
    ])
  })

  test.each([
    ['a misspelled heading', table('labl,active,publicKey', 'a,true,b'), /labl.*label\?/],
    ['a missing column', table('label,publicKey', 'a,b'), /lacks the columns active/],
    ['an open quotation mark', table('label,active,publicKey', '"a,true,b'), /CSV.*quot/],
    ['a quotation mark inside a cell', table('label,active,publicKey', 'a"b,true,c'), /CSV.*quot/],
  ])('with %s is rejected with that reason', (_name, text, message) => {
    expect(() => readCsv(text, 'keys.csv')).toThrow(message)
  })

  test.each([
    ['fewer', 'p,a,true', /1 cells? fewer/],
    ['more', `p,a,true,${publicKey},x`, /1 cells? more/],
  ])('has a row with %s cells rejected, in the project of the table', (_name, row, said) => {
    const heading = 'project,label,active,publicKey'
    const good = `p,good,true,${publicKey}`
    const entries = readCsv(table(heading, good, row), 'keys.csv')
    expect(entries.map(({ project }) => project)).toEqual(['p', 'p'])
    expect(entries[1]).toMatchObject({
      place: 'keys.csv, row 3',
      rejection: { code: 'invalid_row', detail: expect.stringMatching(said) },
    })
  })
})
