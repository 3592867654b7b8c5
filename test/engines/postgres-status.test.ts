import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../packages/server/src/registry.ts'
import { documentOf, openShell } from '../cli/support.ts'
import { createPostgres } from '../support/postgres/server.ts'
import { addSynchronousStandby, primarySettings } from '../support/postgres/standby.ts'
import { freePort } from '../support/server/process.ts'
import { createProject } from '../support/store/store.ts'
import { waitUntil } from '../support/waiting.ts'

const primary = await createPostgres(primarySettings)
await primary.start()
const standby = await addSynchronousStandby(primary)
const store = await openStore(primary.url())
await createProject(store, 'p')
await store.close()
const shell = openShell(() => ({}))

/** `step outcome detail` of the database, from `pubring doctor`, and the exit code. */
async function doctor(
  hosts: (number | string)[],
  database = 'postgres',
): Promise<[number, ...string[]]> {
  const addresses = hosts
    .map((host) => (typeof host === 'number' ? `127.0.0.1:${host}` : host))
    .join()
  const ran = await shell.pubring(['doctor', '--json'], {
    env: {
      PUBRING_DATABASE_URL: `postgres://postgres@${addresses}/${database}`,
      PUBRING_PORT: String(await freePort()),
    },
  })
  const { steps } = documentOf(ran) as { steps: Record<string, string>[] }
  const ofDatabase = steps.filter(({ step = '' }) =>
    ['database', 'primary', 'standby', 'host', 'clock', 'keys'].includes(step),
  )
  return [
    ran.code,
    ...ofDatabase.map(({ step, outcome, detail }) => `${step} ${outcome} ${detail}`),
  ]
}

test('a primary and its standby are shown with connections and lag, an unreachable host as a warning', async () => {
  const dead = await freePort()
  expect(await doctor([standby.port, primary.port, dead])).toEqual([
    0,
    'database passed PostgreSQL, the schema of this release',
    expect.stringMatching(
      `^standby passed 127.0.0.1:${standby.port}, \\d+ bytes behind the primary$`,
    ),
    expect.stringMatching(
      `^primary passed 127.0.0.1:${primary.port}, \\d+ of 100 connections in use$`,
    ),
    expect.stringMatching(`^host warned 127.0.0.1:${dead} takes no connections`),
    'keys passed 0 active, 0 inactive or expired',
  ])
})

test('a standby that no longer applies changes is shown with its growing lag', async () => {
  await standby.query('select pg_wal_replay_pause()')
  await primary.query("select pg_logical_emit_message(false, 'test', repeat('x', 20000000))")
  const [code, ...steps] = await doctor([primary.port, standby.port])
  await standby.query('select pg_wal_replay_resume()')
  expect(code).toBe(0)
  const [step = ''] = steps.filter((one) => one.startsWith('standby'))
  expect(step).toMatch(/^standby warned .*, \d{8} bytes behind/)
})

test('without a primary, and with two of them, the check fails and says what to do', async () => {
  expect(await doctor([standby.port])).toEqual([
    1,
    `standby passed 127.0.0.1:${standby.port}`,
    'primary failed no host accepts changes: start the primary, or promote a standby',
  ])
  // The primary may be well: this machine cannot know.
  const advice = 'only standbys answer: correct what is wrong with the other hosts first'
  expect(await doctor([standby.port, 'nowhere.invalid'])).toContain(`primary failed ${advice}`)
  const access = readFileSync(join(primary.folder, 'pg_hba.conf'), 'utf8')
  primary.writeHba('host all other 127.0.0.1/32 trust\n')
  await primary.query('select pg_reload_conf()')
  const refused = await doctor([standby.port, primary.port])
  expect(refused).toContain(`primary failed ${advice}`)
  expect(refused.join('\n')).toMatch(/^host failed .* does not admit this user/m)
  primary.writeHba(access)
  primary.signal('SIGHUP')
  await waitUntil(() => primary.query('select 1').catch(() => undefined))
  await primary.query("alter system set synchronous_standby_names = ''")
  await primary.query('select pg_reload_conf()')
  await standby.query('select pg_promote(true)')
  const [code, ...steps] = await doctor([primary.port, standby.port])
  expect(code).toBe(1)
  expect(steps).toContain(
    'primary failed more than one host accepts changes: stop the one that was replaced',
  )
})

test('a database that is read-only, missing or without a schema is named', async () => {
  await primary.query('create database empty')
  expect(await doctor([primary.port], 'empty')).toContain(
    'database passed PostgreSQL, empty: pubring serve creates the schema',
  )
  await primary.query('alter database empty set default_transaction_read_only = on')
  const [code, ...steps] = await doctor([primary.port], 'empty')
  expect({ code, steps }).toMatchObject({
    code: 1,
    steps: expect.arrayContaining([expect.stringMatching(/^primary failed .* is read-only/)]),
  })
  const [, missing] = await doctor([primary.port], 'nowhere')
  expect(missing).toMatch(/^host failed .*no database of this name/)
})
