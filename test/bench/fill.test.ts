import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { fillRegistry } from '../../bench/fill/registry.ts'
import { keyChanges } from '../../packages/server/src/features/keys/changes.ts'
import { keyFromRow } from '../../packages/server/src/features/keys/stored.ts'
import { projectChanges } from '../../packages/server/src/features/projects/changes.ts'
import type { Origin } from '../../packages/server/src/kernel/changes.ts'
import type { Store } from '../../packages/server/src/kernel/context.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { openShell } from '../cli/support.ts'
import { createBlankDatabase, type TestDatabase } from '../support/store/database.ts'
import { keyImport } from '../support/store/key-records.ts'

const program = join(import.meta.dirname, '../../bench/fill.ts')
const shell = openShell(() => ({}))

/** Runs the program. */
async function run(database: TestDatabase, keys: number, projects: number): Promise<string> {
  const size = ['--keys', String(keys), '--projects', String(projects)]
  const args = [program, ...size, '--database-url', database.url]
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const env = { PATH, NODE_COMPILE_CACHE }
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env })
  return stdout + stderr
}

const fill = (database: TestDatabase, keys: number, projects: number) =>
  fillRegistry(database.url, { keys, projects }, () => {})

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
    const database = await createBlankDatabase(engine)
    expect(await run(database, 300, 30)).toMatch(/300 of 300 keys/)
    expect(await countKeys(database, '*')).toBe(300)
    expect(await countKeys(database, 'distinct material_sha256')).toBe(300)
    const sizes = await database.query('select count(*) as count from jwt_key group by project_id')
    expect(sizes.map(({ count }) => Number(count))).toEqual(Array.from({ length: 30 }, () => 10))
    const verified = await shell.pubring(['ledger', 'verify', '--database-url', database.url])
    expect(verified).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/31 ledgers, 360 events: all whole/),
    })
  })

  test('has the same rows as after the same changes', async () => {
    const database = await createBlankDatabase(engine)
    await fill(database, 7, 3)
    const other = await createBlankDatabase(engine)
    const store = await openStore(other.url)
    for (const change of await changesIn(database)) await change(store)
    await store.close()
    for (const table of [
      'project',
      'ledger',
      'event',
      'jwt_key',
      'published_key_set',
      'blocked_fingerprint',
    ]) {
      expect(await rowsOf(database, table)).toEqual(await rowsOf(other, table))
    }
  })

  test('is not filled a second time', async () => {
    const database = await createBlankDatabase(engine)
    await fill(database, 2, 1)
    await expect(run(database, 2, 1)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/There are projects in this database/),
    })
    expect(await countKeys(database, '*')).toBe(2)
  })
})

/** The changes recorded in the ledgers, in order: each project is created, and gets its keys with one import. */
async function changesIn(database: TestDatabase): Promise<((store: Store) => Promise<unknown>)[]> {
  const keys = await database.query('select * from jwt_key order by id')
  const events = await database.query(
    "select * from event where project_id <> '00000000-0000-0000-0000-000000000000' and type = 'project.created' order by project_id",
  )
  return events.map((event) => async (store: Store) => {
    const origin: Origin = {
      actor: { name: String(event.actor_name) },
      requestId: String(event.request_id),
      time: String(event.time),
    }
    const id = String(event.project_id)
    const { name } = JSON.parse(String(event.changes))
    await store.commit(projectChanges.createProject, { origin, id, name: name.to })
    const own = keys.filter(({ project_id }) => project_id === id)
    const records = own.map((row) => keyFromRow(Object(row)))
    await store.commit(keyChanges.importKeys, keyImport(records, { origin }))
  })
}
