import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { freePort } from '../support/server/process.ts'
import { createDatabase } from '../support/store/database.ts'
import { type Call, documentOf, type Ran, startShell } from './support.ts'

const shell = await startShell()
const databaseUrl = shell.test.database.url

/** The steps of the command, as `outcome detail` by step. */
async function stepsOf(args: string[], call: Call = {}): Promise<Ran & Record<string, string>> {
  const ran = await shell.pubring([...args, '--json'], call)
  const { steps } = documentOf(ran) as { steps: Record<string, string>[] }
  return Object.assign(
    ran,
    Object.fromEntries(steps.map(({ step, outcome, detail }) => [step, `${outcome} ${detail}`])),
  )
}

describe('pubring doctor', () => {
  const doctor = async (env: Record<string, string> = {}) => {
    const port = String(await freePort())
    const settings = { PUBRING_DATABASE_URL: databaseUrl, PUBRING_PORT: port, ...env }
    return stepsOf(['doctor'], { env: settings })
  }

  /** Looks at the server of the shell. */
  const remote = (...args: string[]) =>
    stepsOf(['doctor', '--url', shell.url, '--database-url', databaseUrl, ...args])

  test('shows a healthy server and its database on one screen', async () => {
    const args = ['doctor', '--url', shell.url, '--database-url', databaseUrl]
    const { code, stdout } = await shell.pubring(args)
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `ok       Node      ${process.version}
ok       settings  valid
ok       server    ${shell.url} serves fresh key sets and accepts changes
ok       database  SQLite, the schema of this release
ok       keys      0 active, 0 inactive or expired
`,
    })
  })

  test('aligns what it says of this machine', async () => {
    const { stdout } = await shell.pubring(['doctor'], {
      env: { PUBRING_DATABASE_URL: databaseUrl },
    })
    expect(stdout).toMatch(/^\w+ +OpenID provider {2}none configured$/m)
    expect(stdout).toMatch(/^\w+ +secrets {10}no file/m)
  })

  test('looks at a server elsewhere alone if no database is named', async () => {
    const { steps } = documentOf(await stepsOf(['doctor', '--url', shell.url]))
    expect(steps).toMatchObject([{ step: 'Node' }, { step: 'settings' }, { step: 'server' }])
  })

  test('fails if no server answers at the address, and still shows the database', async () => {
    const ran = await remote('--url', `http://127.0.0.1:${await freePort()}`)
    expect(ran).toMatchObject({
      code: 1,
      server: expect.stringMatching(/^failed http:\S+ does not answer: start it/),
      database: 'passed SQLite, the schema of this release',
    })
    expect(documentOf(ran)).toMatchObject({ healthy: false, database: { engine: 'SQLite' } })
  })

  test('fails while the server serves from memory and accepts no changes', async () => {
    const fault = await shell.test.database.destroy()
    const ran = await remote()
    await fault.restore()
    expect(ran.code).toBe(1)
    expect(ran.server).toMatch(/^failed http:\S+ (serves|is not ready)/)
  })

  test.each([
    [
      'log_failed',
      0,
      /^warned .* its last attempt to sign a checkpoint of the log failed: the log/,
    ],
    ['diverged', 1, /^failed .* its log has stopped \(diverged\)\. .*pubring log restart/],
  ])('tells what a log that stands still for %s means', async (logReason, code, sentence) => {
    const answering = createServer((_request, response) =>
      response.end(JSON.stringify({ state: 'fresh', log: 'stopped', logReason })),
    ).listen(0, '127.0.0.1')
    await once(answering, 'listening')
    const { port } = Object(answering.address())
    const ran = await remote('--url', `http://127.0.0.1:${port}`)
    answering.close()
    expect(ran).toMatchObject({ code, server: expect.stringMatching(sentence) })
  })

  test('does not create a database at a mistyped path', async () => {
    const PUBRING_DATABASE_URL = `sqlite:${shell.folder}/nothing/here.db`
    for (const run of [1, 2]) {
      const { database, server } = await doctor({ PUBRING_DATABASE_URL })
      expect(server).toMatch(/^skipped none runs at/)
      const missing = `skipped there is no ${shell.folder}/nothing/here.db yet: pubring serve creates it`
      expect(database, `run ${run}`).toBe(missing)
    }
  })

  test('asks the server that runs here, whose port is then in use', async () => {
    const ran = await doctor({ PUBRING_PORT: new URL(shell.url).port })
    expect(ran).toMatchObject({
      code: 0,
      server: expect.stringMatching(/^passed .*fresh key sets/),
    })
    expect(ran).not.toHaveProperty('port')
  })

  test('says nothing of a database that the server here has elsewhere', async () => {
    const main = join(import.meta.dirname, '../../bin/pubring.js')
    const { stdout } = await promisify(execFile)(process.execPath, [main, 'doctor'], {
      cwd: shell.folder,
      env: { PATH: process.env.PATH, PUBRING_PORT: new URL(shell.url).port },
    })
    expect(stdout).toMatch(/^ok +server .* serves fresh key sets/m)
    expect(stdout).not.toMatch(/database|yet: pubring serve/)
  })

  test('tells that there are too few open files', async () => {
    const main = join(import.meta.dirname, '../../bin/pubring.js')
    const command = 'ulimit -n 500; exec "$@" doctor --json'
    const { stdout } = await promisify(execFile)(
      'sh',
      ['-c', command, 'sh', process.execPath, main],
      { env: { PATH: process.env.PATH, PUBRING_DATABASE_URL: databaseUrl } },
    ).catch((error) => error)
    expect(stdout).toMatch(/"400 connections at most, for 11000 held .*LimitNOFILE/)
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
  })
})
