import { beforeAll, describe, expect, test } from 'vitest'
import { openShell } from '../cli/support.ts'
import { startApp, type TestApp } from '../support/app/app.ts'
import { fetchJwks } from '../support/app/keys.ts'
import { fixture } from '../support/keys/intake.ts'
import { ecKey, privatePem } from '../support/keys/pem.ts'
import { createKeyFile } from '../support/log/key-file.ts'
import { createBlankDatabase, type TestDatabase } from '../support/store/database.ts'

const shell = openShell(() => ({}))

/** Runs `pubring copy`, which must write nothing to stdout. */
async function copy(from: string, to: string): Promise<{ code: number; stderr: string }> {
  const { stdout, ...ran } = await shell.pubring(['copy', '--from', from, '--to', to])
  expect(stdout).toBe('')
  return ran
}

/** Everything that the API shows of the registry, with times and entity tags. */
async function readApi(app: TestApp, apiKey: string): Promise<string[]> {
  const headers = { 'x-api-key': apiKey }
  const projects = (await app.send('GET', '/v1/projects', { headers })).json()
  const responses: string[] = [JSON.stringify(projects)]
  for (const { id } of projects) {
    for (const path of ['jwt-keys', 'events?limit=200']) {
      responses.push((await app.send('GET', `/v1/projects/${id}/${path}`, { headers })).body)
    }
    for (const document of ['jwks.json', 'openid-configuration']) {
      const response = await fetchJwks(app, {}, `/v1/projects/${id}/.well-known/${document}`)
      responses.push(`${response.headers.etag} ${response.body}`)
    }
  }
  return responses
}

/** The rows of tables that no operation shows in full. */
async function readTables(database: TestDatabase) {
  const tables = [
    ...['api_key', 'blocked_fingerprint', 'passed_key', 'event', 'ledger'],
    ...['key_reporter', 'key_use', 'log_tree', 'log_entry', 'log_tile', 'log_slot', 'log_ledger'],
  ]
  return Promise.all(
    tables.map(async (table) => {
      const rows = await database.query(`select * from ${table}`)
      return rows
        .map((row) =>
          JSON.stringify(row, (_, v) => (typeof v === 'string' && /^\d+$/.test(v) ? Number(v) : v)),
        )
        .sort()
    }),
  )
}

describe('a copy from SQLite to PostgreSQL, and back', () => {
  let source: TestDatabase
  let apiKey: string
  let before: string[]
  beforeAll(async () => {
    source = await createBlankDatabase('sqlite')
    const logKey = createKeyFile()
    const app = await startApp({ database: source, logSigner: logKey.open() })
    apiKey = app.admin
    for (let index = 0; index < 30; index += 1) {
      await app.send('POST', '/v1/projects', { body: { name: `project-${index}` } })
    }
    const post = (file: string, algorithm: string, more = {}) =>
      app.send('POST', '/v1/projects/payments/jwt-keys', {
        body: {
          name: `ключ 🔑 ${file}`,
          algorithm,
          publicKeyPem: fixture(`keys/${file}`),
          ...more,
        },
      })
    await post('good/rsa2048.pem', 'RSA')
    const { kid } = (await post('good/ec-p256.pem', 'ES256', { active: false })).json()
    await app.send('POST', '/v1/projects/payments/key-uses', {
      body: { reporter: 'orders-api', uses: [{ kid, lastTime: '2026-01-02T03:04:05Z' }] },
    })
    await post('good/ml-dsa-44.pem', 'ML-DSA-44', { expireTime: '2199-01-01T00:00:00Z' })
    await app.send('POST', '/v1/projects/payments/jwt-keys', {
      body: { name: 'x', algorithm: 'ES256', publicKeyPem: privatePem(ecKey()) },
    })
    for (let index = 0; index < 150; index += 1) {
      await app.send('PATCH', '/v1/projects/project-1', {
        body: { name: `project-${1000 + index}` },
      })
      await app.send('PATCH', `/v1/projects/project-${1000 + index}`, {
        body: { name: 'project-1' },
      })
    }
    await app.send('DELETE', '/v1/projects/project-2')
    before = await readApi(app, apiKey)
    expect((await app.send('POST', '/v1/log/checkpoints')).statusCode).toBe(201)
    await app.close()
    logKey.remove()
  })

  test('copies everything, and can be repeated', async () => {
    const [there, back] = [
      await createBlankDatabase('postgres'),
      await createBlankDatabase('sqlite'),
    ]
    const first = await copy(source.url, there.url)
    expect(first).toMatchObject({ code: 0 })
    expect(first.stderr).toMatch(
      /The copy has everything up to revision \d+ of the system ledger, compared with the source: \d+ rows, 32 whole ledgers\.\n$/,
    )
    const again = await copy(source.url, there.url)
    expect(again.code).toBe(0)
    expect(again.stderr).toContain('Nothing was written')
    expect((await copy(there.url, back.url)).code).toBe(0)
    expect(await readTables(there)).toEqual(await readTables(source))
    expect(await readTables(back)).toEqual(await readTables(source))

    const app = await startApp({ database: there })
    expect(await readApi(app, apiKey)).toEqual(before)
  })

  test('is rejected, and writes nothing, if the target has other data', async () => {
    const other = await createBlankDatabase('postgres')
    const app = await startApp({ database: other })
    await app.close()
    const before = await readTables(other)
    const { code, stderr } = await copy(source.url, other.url)
    expect(code).toBe(70)
    expect(stderr).toMatch(/^pubring: The target is not empty, .* use an empty database\.\n$/m)
    expect(await readTables(other)).toEqual(before)
  })

  test('is rejected if the source is missing, without printing a password', async () => {
    const there = await createBlankDatabase('postgres')
    const { code, stderr } = await copy('sqlite:/nowhere/x.db', there.url)
    expect(code).toBe(66)
    expect(stderr).toBe('pubring: There is no database at /nowhere/x.db.\n')
    const missing = there.url
      .replace('postgres@', 'postgres:geheim@')
      .replace(/\/t_\w+/, '/nowhere')
    const failed = await copy(missing, source.url)
    expect(failed.code).toBe(70)
    expect(failed.stderr).toMatch(/no database of this name/)
    expect(failed.stderr).not.toContain('geheim')
  })
})
