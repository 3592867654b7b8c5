import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { csvHeadings, readCsv, writeCsv } from '../../src/cli/import/sources/csv.ts'
import { sendImport } from '../support/app/imports.ts'
import { ecKey, rsaKey } from '../support/keys/pem.ts'
import { documentOf, startShell } from './support.ts'

const labels = [
  'plain',
  '=HYPERLINK("https://x.example","a")',
  '+1',
  '-1+1',
  '@SUM(A1)',
  "'=quoted",
  "'",
  '＝wide',
  'comma, "quote"; semicolon',
  'Ключ 🔑',
]
let from: Awaited<ReturnType<typeof startShell>>
let to: Awaited<ReturnType<typeof startShell>>
beforeAll(async () => {
  ;[from, to] = await Promise.all([startShell(), startShell()])
  const times = { createTime: '2024-05-01T10:00:00.000Z', updateTime: '2024-06-01T10:00:00.000Z' }
  const keys = labels.map((name, index) => ({
    name,
    algorithm: index === 0 ? 'PS256' : 'ES256',
    publicKeyPem: (index === 0 ? rsaKey() : ecKey()).publicKeyPem,
    active: index % 2 === 0,
    ...(index < 4 ? times : {}),
    ...(index === 3 ? { expireTime: '2025-01-01T00:00:00.000Z' } : {}),
    ...(index === 4 ? { expireTime: '2099-01-01T00:00:00.000Z' } : {}),
    ...(index === 5 ? { publishedKid: 'inactive-one' } : {}),
    ...(index === 6 ? { publishedKid: 'arn:aws:kms/+1' } : {}),
  }))
  expect((await sendImport(from.test, keys)).statusCode).toBe(200)
  await from.test.send('POST', '/v1/projects', { body: { name: 'orders' } })
  await sendImport(from.test, keys.slice(0, 2), { project: 'orders' })
})
afterAll(async () => {
  await from.close()
  await to.close()
})

const listed = async ({ test: server }: typeof from, project: string) => {
  const keys: object[] = (await server.send('GET', `/v1/projects/${project}/jwt-keys`)).json()
  return keys.map((key) => ({ ...key, projectId: 'any' }))
}

const publishedKids = async ({ test: server }: typeof from, project: string) => {
  const url = `/v1/projects/${project}/jwt-keys`
  const kids: unknown[] = []
  for (const { id } of (await server.send('GET', url)).json()) {
    kids.push((await server.send('GET', `${url}/${id}`)).json().details.publishedKid ?? [])
  }
  return kids.flat()
}

describe.each(['json', 'csv'])('an export as %s', (format) => {
  test('is imported with kids, states, times and labels', async () => {
    const project = `back-${format}`
    await to.test.send('POST', '/v1/projects', { body: { name: project } })
    const { stdout } = await from.pubring(['export', '--format', format])
    const file = to.file(`export.${format}`, stdout)
    const ran = await to.pubring(['import', file, '--project', project, '--json'])
    expect(ran.code, ran.stderr).toBe(0)
    expect(documentOf(ran)).toMatchObject({ created: labels.length, refused: 0 })
    expect(await listed(to, project)).toEqual(await listed(from, 'payments'))
    expect(await publishedKids(to, project)).toEqual(['inactive-one', 'arn:aws:kms/+1'])
    const again = await to.pubring(['import', file, '--project', project, '--json'])
    expect(documentOf(again)).toMatchObject({ created: 0, present: labels.length })
  })
})

describe('import --all', () => {
  const projectsOf = async ({ test: server }: typeof from) =>
    (await server.send('GET', '/v1/projects?limit=200')).json() as { id: string; name: string }[]

  test.each(['json', 'csv'])(
    'moves a registry to a fresh server with the ids of its projects (%s)',
    async (format) => {
      const fresh = await startShell()
      try {
        await from.test.send('POST', '/v1/projects', { body: { name: 'empty' } })
        const { stdout } = await from.pubring(['export', '--all', '--format', format])
        const file = fresh.file(`all.${format}`, stdout)
        expect(await fresh.pubring(['import', file])).toMatchObject({
          code: 64,
          stderr: expect.stringContaining('--all'),
        })
        const dry = await fresh.pubring(['import', file, '--all', '--dry-run', '--json'])
        expect(documentOf(dry)).toMatchObject({ created: 0, notSent: labels.length + 2 })
        const ran = await fresh.pubring(['import', file, '--all'])
        expect(ran.code, ran.stderr).toBe(0)
        expect(ran.stderr).toMatch(/Project payments \(.*\) was never used.*payments-replaced/)
        const ids = (projects: { id: string; name: string }[]) =>
          projects.map(({ id, name }) => `${name} ${id}`).sort()
        const moved = (await projectsOf(from)).filter(
          ({ name }) => format === 'json' || name !== 'empty',
        )
        const here = await projectsOf(fresh)
        expect(here.map(({ name }) => name)).toContain('payments-replaced')
        expect(ids(here.filter(({ name }) => name !== 'payments-replaced'))).toEqual(ids(moved))
        expect(await listed(fresh, 'orders')).toEqual(await listed(from, 'orders'))
        const again = await fresh.pubring(['import', file, '--all', '--json'])
        expect(documentOf(again)).toMatchObject({ created: 0, present: labels.length + 2 })
      } finally {
        await fresh.close()
      }
    },
  )

  test('undoes the renaming of an unused project if its id was taken', async () => {
    const used = await startShell()
    try {
      const bound = { name: 'deploy', role: 'writer', project: used.test.project.id }
      await used.test.send('POST', '/v1/api-keys', { body: bound })
      const gone = (await used.test.send('POST', '/v1/projects', { body: { name: 'gone' } })).json()
      await used.test.send('DELETE', '/v1/projects/gone')
      const key = { label: 'a', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem }
      const early = { id: '0f8fad5b-d9cb-469f-a165-70867728950d', name: 'early' }
      const unused = { id: used.test.project.id, name: 'payments' }
      const projects = [
        { ...early, keys: [key] },
        { id: gone.id, name: unused.name, keys: [] },
      ]
      const document = { format: 'pubring-export', version: 1, projects }
      const ran = await used.pubring([
        'import',
        used.file('a.json', JSON.stringify(document)),
        '--all',
      ])
      expect(ran).toMatchObject({
        code: 7,
        stderr: expect.stringContaining('was, a project with this id'),
      })
      expect(await projectsOf(used)).toEqual(
        expect.arrayContaining([early, unused].map((each) => expect.objectContaining(each))),
      )
      expect(ran.stderr).toContain('Project early was created and stays')
      const apiKeys = (await used.test.send('GET', '/v1/api-keys')).json()
      expect(apiKeys.map(({ name }: { name: string }) => name)).toContain('deploy')
    } finally {
      await used.close()
    }
  })

  test('creates a project once that two exports of a folder have', async () => {
    const id = '0f8fad5b-d9cb-469f-a165-70867728950e'
    const { publicKeyPem } = ecKey()
    const key = { label: 'twice', algorithm: 'ES256', publicKeyPem }
    const folder = mkdtempSync(join(to.folder, 'twice-'))
    for (const name of ['a', 'b']) {
      const projects = [{ id, name: `twice-${name}`, keys: name === 'a' ? [key] : [] }]
      writeFileSync(
        join(folder, `${name}.json`),
        JSON.stringify({ format: 'pubring-export', version: 1, projects }),
      )
    }
    const ran = await to.pubring(['import', folder, '--all'])
    expect(ran.code, ran.stderr).toBe(0)
    expect((await projectsOf(to)).filter((project) => project.id === id)).toHaveLength(1)
  })

  test('does not give the keys of a project in use another issuer, but with --kids new', async () => {
    const used = await startShell()
    try {
      await sendImport(used.test, [
        { name: 'x', algorithm: 'ES256', publicKeyPem: ecKey().publicKeyPem },
      ])
      const file = used.file('all.json', (await from.pubring(['export', '--all'])).stdout)
      const ran = await used.pubring(['import', file, '--all'])
      expect(ran).toMatchObject({
        code: 7,
        stderr: expect.stringMatching(/Project payments has another id here.*in use/),
      })
      const added = await used.pubring([
        'import',
        file,
        '--all',
        '--kids',
        'new',
        '--skip-refused',
        '--json',
      ])
      expect(documentOf(added)).toMatchObject({ created: labels.length + 1 })
    } finally {
      await used.close()
    }
  })
})

test('a writer can import with new kids; keeping kids requires an admin', async () => {
  const file = to.file('export.json', (await from.pubring(['export'])).stdout)
  await to.test.send('POST', '/v1/projects', { body: { name: 'writers' } })
  const env = { PUBRING_API_KEY: await to.test.apiKey('writer') }
  const kept = await to.pubring(['import', file, '--project', 'writers'], { env })
  expect(kept).toMatchObject({ code: 5, stderr: expect.stringContaining('--kids new') })
  const call = ['import', file, '--project', 'writers', '--kids', 'new', '--skip-refused', '--json']
  const ran = await to.pubring(call, { env })
  // The one that has expired cannot be registered anew.
  expect(documentOf(ran)).toMatchObject({ created: labels.length - 1, refused: 1 })
})

/** The cells of a CSV whose cells are all quoted (RFC 4180). */
function cellsOf(text: string): string[][] {
  const rows: string[][] = [[]]
  for (const [, cell = '', ending] of text.matchAll(/"((?:[^"]|"")*)"(,|\r\n)/g)) {
    rows.at(-1)?.push(cell.replaceAll('""', '"'))
    if (ending !== ',') rows.push([])
  }
  return rows.filter((cells) => cells.length > 0)
}

test('no CSV cell reads as a formula, and every label is restored', () => {
  const anyLabel = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc
      .tuple(fc.constantFrom(...'\'=+-@\t\r\n",;'), fc.string())
      .map(([first, rest]) => first + rest),
  )
  const key = {
    id: '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
    projectId: 'p',
    algorithm: 'ES256' as const,
    publicKeyPem: ecKey().publicKeyPem,
    active: true,
    createTime: '2024-05-01T10:00:00.000Z',
    updateTime: '2024-05-01T10:00:00.000Z',
  }
  fc.assert(
    fc.property(anyLabel, anyLabel, (name, label) => {
      const id = '019ac8f2-6c1e-7d53-a1b0-000000000001'
      const text = csvHeadings + writeCsv({ id, name, keys: [{ ...key, label }] })
      for (const cell of cellsOf(text).flat()) expect(cell).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/u)
      expect(readCsv(text, 'x')).toMatchObject({
        entries: [{ project: name, label, key: { kid: key.id } }],
        projects: [{ id, name }],
      })
    }),
  )
})

test('a CSV saved by a spreadsheet with semicolons and a byte order mark is read', async () => {
  const { stdout } = await from.pubring(['export', '--format', 'csv'])
  const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`
  const lines = cellsOf(stdout).map((cells) => `${cells.map(quoted).join(';')}\n`)
  const saved = `\uFEFF${lines.join('')}`
  const { entries } = readCsv(saved, 'x')
  expect(entries.map(({ label }) => label)).toEqual(labels)
})

test('an export as PEM keeps the labels on import', async () => {
  const { stdout } = await from.pubring(['export', '--format', 'pem'])
  await to.test.send('POST', '/v1/projects', { body: { name: 'from-pem' } })
  const file = to.file('keys.pem', stdout)
  expect((await to.pubring(['import', file, '--project', 'from-pem'])).code).toBe(0)
  const found = (await to.test.send('GET', '/v1/projects/from-pem/jwt-keys')).json()
  expect(found.map(({ label }: { label: string }) => label)).toEqual(labels)
})

test('an export as JWKS is the published key set of one project', async () => {
  const { stdout } = await from.pubring(['export', '--format', 'jwks'])
  const answer = await from.test.inject('/v1/projects/payments/.well-known/jwks.json')
  expect(JSON.parse(stdout)).toEqual(answer.json())
  const all = await from.pubring(['export', '--format', 'jwks', '--all'])
  expect(all).toMatchObject({ code: 64, stdout: '' })
})
