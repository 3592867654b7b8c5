import { describe, expect, test } from 'vitest'
import { readCsv } from '../../src/cli/import/sources/csv.ts'
import { readContent } from '../../src/cli/import/sources/read.ts'
import { ecKey } from '../support/keys/pem.ts'

const publicKey = ecKey().publicKeyPem.replace(/-----[^-]+-----|\s/g, '')
const table = (...lines: string[]) => lines.join('\n')

describe('a table that a person wrote', () => {
  test('may have the needed columns alone, in any order, with semicolons and a byte order mark', () => {
    const text = table('\uFEFFpublicKey;label;active', `${publicKey};spring;true`, ';;', '')
    const [project] = readContent(Buffer.from(text), 'keys.csv')
    expect(project).toEqual({
      entries: [
        expect.objectContaining({
          place: 'keys.csv, row 2',
          label: 'spring',
          key: expect.objectContaining({ active: true }),
        }),
      ],
    })
  })

  test.each([
    ['a heading that is misspelt', table('labl,active,publicKey', 'a,true,b'), /labl.*label\?/],
    ['a column that is missing', table('label,publicKey', 'a,b'), /lacks the columns active/],
    ['a quotation mark that is open', table('label,active,publicKey', '"a,true,b'), /CSV.*quot/],
    ['one in a cell', table('label,active,publicKey', 'a"b,true,c'), /CSV.*quot/],
  ])('with %s is refused, saying so', (_name, text, message) => {
    expect(() => readCsv(text, 'keys.csv')).toThrow(message)
  })

  test.each([
    ['fewer', 'p,a,true', /1 cells? fewer/],
    ['more', `p,a,true,${publicKey},x`, /1 cells? more/],
  ])(
    'has a row with %s cells: that row is refused, in the project of its table',
    (_name, row, said) => {
      const heading = 'project,label,active,publicKey'
      const good = `p,good,true,${publicKey}`
      const projects = readCsv(table(heading, good, row), 'keys.csv')
      expect(projects.map(({ name }) => name)).toEqual(['p'])
      expect(projects[0]?.entries[1]).toMatchObject({
        place: 'keys.csv, row 3',
        rejection: { code: 'invalid_row', detail: expect.stringMatching(said) },
      })
    },
  )
})
