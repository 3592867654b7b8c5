import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../support/server/process.ts'
import { createDatabase } from '../support/store/database.ts'
import { type Call, documentOf, type Ran, startShell } from './support.ts'

let shell: Awaited<ReturnType<typeof startShell>>
let databaseUrl: string
beforeAll(async () => {
  shell = await startShell()
  databaseUrl = shell.test.database.url
})
afterAll(() => shell.close())

/** The steps of the command, as `outcome detail` by step. */
async function stepsOf(args: string[], call: Call = {}): Promise<Ran & Record<string, string>> {
  const ran = await shell.pubring([...args, '--json'], call)
  const { steps } = documentOf(ran) as { steps: Record<string, string>[] }
  return Object.assign(
    ran,
    Object.fromEntries(steps.map(({ step, outcome, detail }) => [step, `${outcome} ${detail}`])),
  )
}

describe('pubring status', () => {
  const status = (...args: string[]) => stepsOf(['status', '--database-url', databaseUrl, ...args])

  test('shows a healthy server and its database on one screen', async () => {
    const { code, stdout } = await shell.pubring(['status', '--database-url', databaseUrl])
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `ok       server       ${shell.url} serves fresh key sets and accepts changes
ok       database     SQLite, the schema of this release
ok       keys         0 active, 0 inactive or expired
`,
    })
  })

  test('fails if no server answers, and still shows the database', async () => {
    const ran = await status('--url', `http://127.0.0.1:${await freePort()}`)
    expect(ran).toMatchObject({
      code: 1,
      server: expect.stringMatching(/^failed http:\S+ does not answer: start it/),
      database: 'passed SQLite, the schema of this release',
    })
    expect(documentOf(ran)).toMatchObject({ healthy: false, database: { engine: 'SQLite' } })
  })

  test('fails while the server serves from memory and accepts no changes', async () => {
    const fault = await shell.test.database.destroy()
    const ran = await status()
    await fault.restore()
    expect(ran.code).toBe(1)
    expect(ran.server).toMatch(/^failed http:\S+ (serves|is not ready)/)
  })

  test('does not create a database at a mistyped path', async () => {
    const url = `sqlite:${shell.folder}/nothing/here.db`
    for (const run of [1, 2]) {
      const { database } = await stepsOf(['status', '--database-url', url])
      expect(database, `run ${run}`).toBe('passed SQLite, empty: pubring serve creates the schema')
    }
  })
})

describe('pubring doctor', () => {
  const doctor = async (env: Record<string, string> = {}) => {
    const port = String(await freePort())
    const settings = { PUBRING_DATABASE_URL: databaseUrl, PUBRING_PORT: port, ...env }
    return stepsOf(['doctor'], { env: settings })
  }

  test('finds nothing where the server can run', async () => {
    const { code, stderr, stdout } = await doctor({
      PUBRING_PUBLIC_URL: 'https://keys.example.com',
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).not.toContain('"failed"')
  })

  const at = (PUBRING_DATABASE_URL: string) => ({ PUBRING_DATABASE_URL })
  test.each([
    ['settings', { PUBRING_PORT: 'many' }, /^failed PUBRING_PORT must be a whole number/],
    ['settings', { PUBRING_PORTS: '2' }, /^failed PUBRING_PORTS is not a known variable/],
    [
      'blocklist',
      { PUBRING_BLOCKLIST: '/none' },
      /^failed PUBRING_BLOCKLIST names a file that does/,
    ],
    [
      'folder',
      at('sqlite:/dev/null/p/pubring.db'),
      /^failed this user cannot write to \/dev\/null/,
    ],
    ['database', at(`sqlite:${import.meta.filename}`), /^failed .*not a database/],
    ['database', at('postgres://p@127.0.0.1/p?sslrootcert=/none'), /^failed .* sslrootcert/],
    ['host', at('postgres://p@127.0.0.1:1/p'), /^failed 127\.0\.0\.1:1: .*hosts answered/],
    ['public URL', {}, /^warned other machines cannot reach http:.*set PUBRING_PUBLIC_URL$/],
    ['public URL', { PUBRING_PUBLIC_URL: 'http://keys.example.com' }, /^warned .* is not https/],
  ])('tells what is wrong with the %s: %j', async (step, env, detail) => {
    const ran = await doctor(env)
    expect(ran[step]).toMatch(detail)
    expect(ran.code).toBe(ran[step]?.startsWith('failed') ? 1 : 0)
  })

  test('tells that there are too few open files', async () => {
    const main = join(import.meta.dirname, '../../src/main.ts')
    const command = 'ulimit -n 500; exec "$@" doctor --json'
    const { stdout } = await promisify(execFile)(
      'sh',
      ['-c', command, 'sh', process.execPath, main],
      { env: { PATH: process.env.PATH, PUBRING_DATABASE_URL: databaseUrl } },
    ).catch((error) => error)
    expect(stdout).toMatch(/"400 connections at most, for 11000 held .*LimitNOFILE/)
  })

  test.each(['PUBRING_PORT', 'PUBRING_METRICS_PORT'])('tells that %s is in use', async (name) => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    expect(await doctor({ [name]: String(port) })).toMatchObject({
      code: 1,
      port: expect.stringMatching(`^failed Port ${port} on 127.0.0.1 is in use: .*${name}`),
    })
    taken.close()
  })

  test('tells that a newer release has migrated the database', async () => {
    const database = await createDatabase()
    const insert = "insert into kysely_migration values ('9999-later', '2030-01-01')"
    await database.execute(insert)
    const { code, database: detail } = await doctor({ PUBRING_DATABASE_URL: database.url })
    expect({ code, detail }).toMatchObject({
      code: 1,
      detail: expect.stringMatching(/^failed .*written by a newer Pubring/),
    })
    await database.execute("insert into migration_release values ('9999-later', '0.1.0')")
    const allowed = await doctor({ PUBRING_DATABASE_URL: database.url })
    expect(allowed).toMatchObject({ code: 0, database: expect.stringMatching(/newer release/) })
    await database.remove()
  })
})
