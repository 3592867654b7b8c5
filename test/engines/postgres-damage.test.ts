import { beforeAll, describe, expect, test } from 'vitest'
import { startApp, type TestApp } from '../support/app/app.ts'
import { testClock } from '../support/app/clock.ts'
import {
  fetchJwks,
  keysUrl,
  kidsOf,
  newProject,
  patchKey,
  registerKey,
} from '../support/app/keys.ts'
import { createDatabase, type TestDatabase } from '../support/store/database.ts'
import { waitUntil } from '../support/waiting.ts'

const clock = testClock()
let database: TestDatabase
let server: TestApp
let log: string[] = []

beforeAll(async () => {
  database = await createDatabase('postgres')
  const logStream = { write: (line: string) => void log.push(line) }
  server = await startApp({ clock, database, http: { metrics: true, logStream } })
})

/** Has each read of a row that matches the condition fail with the SQLSTATE, until it is mended. */
async function damage(table: string, sqlState: string, condition: string) {
  await database.query(`create function damaged() returns boolean language plpgsql as
    $$ begin raise exception 'a damaged page' using errcode = '${sqlState}'; end $$`)
  await database.query(`alter table ${table} rename to whole`)
  await database.query(
    `create view ${table} as select * from whole where not (${condition}) or damaged()`,
  )
  return async () => {
    await database.query(`drop view ${table}`)
    await database.query(`alter table whole rename to ${table}`)
    await database.query('drop function damaged')
  }
}

const readiness = async () => (await server.send('GET', '/health/ready')).json().state
const staleCount = async () => {
  const counter = await server.app.metrics?.getSingleMetric('pubring_published_stale_total')?.get()
  return Number(counter?.values[0]?.value)
}
const errors = () => log.filter((line) => JSON.parse(line).level >= 50)

describe('a database that cannot be read, whatever it reports', () => {
  test.each(['XX000', 'XX001', 'XX002', '22P02', '58030', '53200', '42501', '42P01', 'P0001'])(
    '%s: key sets are served from memory, marked as stale, and the rest is 503',
    async (sqlState) => {
      const kid = await registerKey(server)
      const good = await fetchJwks(server)
      const before = await staleCount()
      const mend = await damage('ledger', sqlState, 'true')
      clock.advance(2_000)
      const served = await fetchJwks(server)
      expect(served.statusCode).toBe(200)
      expect(served.body).toBe(good.body)
      expect(served.headers).toMatchObject({ age: '2', 'cache-control': 'public, max-age=0' })
      expect(await staleCount()).toBe(before + 1)
      expect(await readiness()).toBe('stale')
      const list = await server.send('GET', keysUrl)
      expect(list.json()).toMatchObject({ status: 503, code: 'storage_unavailable' })
      expect(list.body).not.toContain('damaged')
      await mend()
      await waitUntil(async () => (await server.send('GET', keysUrl)).statusCode === 200)
      await waitUntil(async () => (await readiness()) === 'fresh')
      await patchKey(server, kid, { active: false })
      await server.send('DELETE', `${keysUrl}/${kid}`)
    },
  )
})

test('a damaged row of one project is one line in the log, and connections are kept', async () => {
  const [kept, lost] = [await registerKey(server), await registerKey(server)]
  const jwksUrl = `/v1/projects/${server.project.id}/.well-known/jwks.json`
  await fetchJwks(server, {}, jwksUrl)
  const backends = () =>
    database.query(
      "select pid from pg_stat_activity where datname = current_database() and application_name like 'pubring%' order by 1",
    )
  const connected = await backends()
  // Only what reads the key sets sees this page.
  const condition = `project_id = '${server.project.id}' and current_query() like '%jwks_full%'`
  const mend = await damage('published_key_set', 'XX001', condition)
  log = []
  const renaming = await server.send('PATCH', '/v1/projects/payments', {
    body: { name: 'renamed' },
  })
  expect(renaming.statusCode).toBe(200)
  await waitUntil(async () => {
    clock.advance(600)
    const { body, headers } = await fetchJwks(server, {}, jwksUrl)
    expect(kidsOf(body)).toEqual([kept, lost])
    return Number(headers.age) > 2 && log.some((line) => line.includes('project_unreadable'))
  })
  expect(errors()).toHaveLength(1)
  expect(errors()[0]).toContain('a damaged page')
  // The clock went ahead of the watch, which looks again within a second.
  await waitUntil(async () => (await readiness()) === 'fresh')
  expect(await backends()).toEqual(expect.arrayContaining(connected))
  await mend()
  await waitUntil(async () => (await fetchJwks(server, {}, jwksUrl)).headers.age === undefined)
})

test('of key sets that are read together, a damaged row fails only its own', async () => {
  const projects = await Promise.all(
    ['one', 'two', 'three', 'four', 'five'].map((name) => newProject(server, name)),
  )
  const condition = `project_id = '${projects[2]?.id}'`
  const mend = await damage('published_key_set', 'XX001', condition)
  const read = () => Promise.all(projects.map(({ jwks }) => fetchJwks(server, {}, jwks)))
  const statuses = (await read()).map(({ statusCode }) => statusCode)
  expect(statuses).toEqual([200, 200, 503, 200, 200])
  await mend()
  expect((await read()).every(({ statusCode }) => statusCode === 200)).toBe(true)
})
