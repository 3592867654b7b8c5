import { describe, expect, test } from 'vitest'
import { readCsv } from '../../src/cli/import/sources/csv.ts'
import { readContent } from '../../src/cli/import/sources/read.ts'
import { ecKey } from '../support/keys/pem.ts'

const publicKey = ecKey().publicKeyPem.replace(/-----[^-]+-----|\s/g, '')
const table = (...lines: string[]) => lines.join('\n')

test.each([
  [{ active: 'false' }, /active of a.json, key 1 must be true or false/],
  [{ expireTime: 1 }, /expireTime of a.json, key 1 must be text/],
  [{ expiretime: '2020-01-01T00:00:00Z' }, /unknown member: expiretime/],
])('an exported key with %j is rejected', (members, message) => {
  const key = { label: 'a', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem, ...members }
  const projects = [{ name: 'p', keys: [key] }]
  const text = JSON.stringify({ format: 'pubring-export', version: 1, projects })
  expect(() => readContent(Buffer.from(text), 'a.json')).toThrow(message)
})

describe('a hand-written table', () => {
  test('needs only the required columns, in any order; semicolons and a byte order mark are fine', () => {
    const text = table('\uFEFFpublicKey;label;active', `${publicKey};spring;true`, ';;', '')
    const { entries } = readContent(Buffer.from(text), 'keys.csv')
    expect(entries).toEqual([
      { place: 'keys.csv, row 2', label: 'spring', key: expect.objectContaining({ active: true }) },
    ])
  })

  test('has headings in any spelling, and needs only the key', () => {
    const pem = ecKey().publicKeyPem
    const text = table(
      'Name,Alg,Public Key,expire_time',
      `a,ES256,"${pem}",2099-01-01T00:00:00.000Z`,
    )
    expect(readContent(Buffer.from(text), 'keys.csv').entries).toMatchObject([
      {
        label: 'a',
        key: {
          algorithm: 'ES256',
          publicKeyPem: pem,
          active: true,
          expireTime: '2099-01-01T00:00:00.000Z',
        },
      },
    ])
    const bare = readContent(Buffer.from(table('labl;publicKey', `;${publicKey}`)), 'keys.csv')
    expect(bare.entries).toMatchObject([{ label: '', key: { active: true } }])
    expect(bare.notes).toEqual(['keys.csv: read column labl as label.'])
  })

  test.each([
    ['an unknown heading', table('label,colour,publicKey', 'a,red,b'), /unknown column: colour/],
    ['the opposite of active', table('inactive,publicKey', 'true,b'), /column inactive.*no equiv/],
    ['a heading near active', table('native,publicKey', 'true,b'), /unknown column: native/],
    ['a heading near kid', table('kty,publicKey', 'EC,b'), /unknown column: kty/],
    ['another near kid', table('kind,publicKey', 'EC,b'), /unknown column: kind/],
    ['a heading near kid with a digit', table('id2,publicKey', 'x,b'), /unknown column: id2/],
    ['a misspelt time', table('expireTme,publicKey', 'x,b'), /unknown column: expireTme/],
    ['a misspelt double', table('label,labl,publicKey', 'a,b,c'), /unknown column: labl/],
    ['a heading twice', table('label,name,publicKey', 'a,b,c'), /column label twice/],
    ['a missing column', table('label,active', 'a,true'), /lacks the column publicKey/],
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
    const { entries } = readCsv(table(heading, good, row), 'keys.csv')
    expect(entries.map(({ project }) => project)).toEqual(['p', 'p'])
    expect(entries[1]).toMatchObject({
      place: 'keys.csv, row 3',
      rejection: { code: 'invalid_row', detail: expect.stringMatching(said) },
    })
  })
})
