import { join } from 'node:path'
import type { Insertable } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import { ownMigrations } from '../../../packages/server/src/kernel/storage/migrations/index.ts'
import { createKysely } from '../../../packages/server/src/kernel/storage/postgres/database.ts'
import type { Tables } from '../../../packages/server/src/kernel/storage/schema.ts'
import { openMigrated } from '../../../packages/server/src/kernel/storage/sqlite/opening.ts'
import {
  insertion,
  pipeline,
  statement,
} from '../../../packages/server/src/kernel/storage/statements.ts'
import { temporaryFolder } from '../../support/server/process.ts'

const { folder } = temporaryFolder()

const connection = await openMigrated({ file: join(folder, 'statements.db') }, ownMigrations)

afterAll(() => {
  connection.close()
})

type ApiKey = Insertable<Tables['api_key']>

const insertApiKeys = insertion('api_key')
const digestsOf = statement((db, { role, minimum }: { role: string; minimum: string }) =>
  db
    .selectFrom('api_key')
    .select('digest')
    .where('role', '=', role)
    .where('digest', '>=', minimum)
    .orderBy('digest'),
)

function apiKey(digest: string, members: Partial<ApiKey> = {}): ApiKey {
  const time = '2026-01-02T03:04:05.678Z'
  return {
    id: digest,
    name: 'ci',
    role: 'reader',
    project_id: null,
    prefix: 'pubring_abcd',
    digest,
    enabled: 1,
    create_time: time,
    expire_time: null,
    last_use_time: null,
    ...members,
  }
}

test('a statement compiled once takes the values of each call, null included', async () => {
  const { db } = connection
  await insertApiKeys(db, [apiKey('a')])
  await insertApiKeys(db, [apiKey('b', { role: 'writer', project_id: 'p' })])
  await insertApiKeys(db, [apiKey('c'), apiKey('d', { role: 'writer' })])
  await insertApiKeys(db, [])
  expect(await digestsOf(db, { role: 'reader', minimum: '' })).toEqual([
    { digest: 'a' },
    { digest: 'c' },
  ])
  expect(await digestsOf(db, { role: 'writer', minimum: 'c' })).toEqual([{ digest: 'd' }])
  const bound = await db.selectFrom('api_key').select(['id', 'project_id']).orderBy('id').execute()
  expect(bound.map(({ project_id }) => project_id)).toEqual([null, 'p', null, null])
})

test('SQL and special characters in a value are not interpreted', async () => {
  const name = `x'); delete from "api_key"; -- \u0000 $1 ? {}`
  await insertApiKeys(connection.db, [apiKey('e', { name, role: 'admin' })])
  const rows = await connection.db.selectFrom('api_key').select('name').execute()
  expect(rows.filter((row) => row.name === name)).toHaveLength(1)
  expect(await digestsOf(connection.db, { role: 'admin', minimum: 'e' })).toHaveLength(1)
})

test('on SQLite no step starts after a failed one, which may have ended the transaction', async () => {
  const started: string[] = []
  const failing = pipeline(
    connection.db,
    async () => started.push('first'),
    async () => Promise.reject(new Error('disk full')),
    async () => started.push('third'),
  )
  await expect(failing).rejects.toThrow('disk full')
  expect(started).toEqual(['first'])
})

test('concurrent steps have all settled when the error of the first failed one is reported', async () => {
  const ended: string[] = []
  const step = (name: string, turns: number, fails: boolean) => async () => {
    for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate)
    ended.push(name)
    if (fails) throw new Error(name)
  }
  const postgres = createKysely(async () => ({ rows: [] }))
  const failing = pipeline(
    postgres,
    step('first', 2, false),
    step('second', 4, true),
    step('third', 1, true),
  )
  await expect(failing).rejects.toThrow('second')
  expect(ended).toEqual(['third', 'first', 'second'])
})
