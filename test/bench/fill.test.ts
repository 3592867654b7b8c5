import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import { keyFromRow } from '../../packages/server/src/features/keys/stored.ts'
import { projectChanges } from '../../packages/server/src/features/projects/changes.ts'
import type { Origin } from '../../packages/server/src/kernel/changes.ts'
import type { Store } from '../../packages/server/src/kernel/context.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { createBlankDatabase, type TestDatabase } from '../support/store/database.ts'
import { limits } from '../support/store/store.ts'

const root = join(import.meta.dirname, '../..')
const databases: TestDatabase[] = []

async function blank(engine: 'sqlite' | 'postgres'): Promise<TestDatabase> {
  const database = await createBlankDatabase(engine)
  databases.push(database)
  return database
}
afterAll(async () => {
  for (const database of databases) await database.remove()
})

function run(program: string, ...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH }
    execFile(process.execPath, [join(root, program), ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr })
    })
  })
}

function fill(database: TestDatabase, keys: number, projects: number) {
  const size = ['--keys', String(keys), '--projects', String(projects)]
  return run('bench/fill.ts', ...size, '--database-url', database.url)
}

const toNumber = (_: string, value: unknown) =>
  typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value

/** All rows in a form that is equal on both engines, sorted. */
async function rowsOf(database: TestDatabase, table: string): Promise<string[]> {
  const rows = await database.query(`select * from ${table}`)
  return rows.map((row) => JSON.stringify(row, toNumber)).sort()
}

async function countKeys(database: TestDatabase, what: string): Promise<number> {
  const [row] = await database.query(`select count(${what}) as count from jwt_key`)
  return Number(row?.count)
}

describe.each(['sqlite', 'postgres'] as const)('a filled %s database', (engine) => {
  test('has the requested number of distinct keys, evenly distributed, and intact ledgers', async () => {
    const database = await blank(engine)
    const { code, output } = await fill(database, 300, 30)
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringMatching(/300 of 300 keys/),
    })
    expect(await countKeys(database, '*')).toBe(300)
    expect(await countKeys(database, 'distinct material_sha256')).toBe(300)
    const sizes = await database.query('select count(*) as count from jwt_key group by project_id')
    expect(sizes.map(({ count }) => Number(count))).toEqual(Array.from({ length: 30 }, () => 10))
    const verified = await run(
      'packages/cli/src/main.ts',
      'ledger',
      'verify',
      '--database-url',
      database.url,
    )
    expect(verified).toMatchObject({
      code: 0,
      output: expect.stringMatching(/31 ledgers, 360 events: all whole/),
    })
  })

  test('has the same rows as after the same changes one by one', async () => {
    const database = await blank(engine)
    await fill(database, 7, 3)
    const other = await blank(engine)
    const store = await openStore(other.url)
    for (const change of await changesIn(database)) await change(store)
    await store.close()
    for (const table of ['project', 'ledger', 'event', 'jwt_key', 'blocked_fingerprint']) {
      expect(await rowsOf(database, table)).toEqual(await rowsOf(other, table))
    }
  })

  test('is not filled a second time', async () => {
    const database = await blank(engine)
    await fill(database, 2, 1)
    const again = await fill(database, 2, 1)
    expect(again).toMatchObject({
      code: 1,
      output: expect.stringMatching(/There are projects in this database/),
    })
    expect(await countKeys(database, '*')).toBe(2)
  })
})

/** The changes recorded in the ledgers, in order. */
async function changesIn(database: TestDatabase): Promise<((store: Store) => Promise<unknown>)[]> {
  const keys = await database.query('select * from jwt_key')
  const events = await database.query(
    "select * from event where project_id <> '00000000-0000-0000-0000-000000000000' order by project_id, revision",
  )
  return events.map((event) => {
    const origin: Origin = {
      actor: { name: String(event.actor_name) },
      requestId: String(event.request_id),
      time: String(event.time),
    }
    const id = String(event.subject_id)
    if (event.type === 'project.created') {
      const { name } = JSON.parse(String(event.changes))
      return (store: Store) =>
        store.commit(projectChanges.createProject, { origin, id, name: name.to })
    }
    const row = keys.find((each) => each.id === id)
    const key = keyFromRow(Object(row))
    return (store: Store) => store.commit(keyChanges.createKey, { origin, limits, key })
  })
}
