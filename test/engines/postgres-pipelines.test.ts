import { afterAll, beforeAll, expect, test } from 'vitest'
import { parsePostgresAddress } from '../../src/storage/postgres/address.ts'
import { openDatabase, type PostgresDatabase } from '../../src/storage/postgres/database.ts'
import { createDatabase, type TestDatabase } from '../support/store/database.ts'

let database: TestDatabase
let sessions: PostgresDatabase
beforeAll(async () => {
  database = await createDatabase('postgres')
  sessions = openDatabase(
    parsePostgresAddress(`${database.url}?statement_timeout=500&pool_size=2`),
    'primary',
  )
})
afterAll(async () => {
  await sessions.close()
  await database.remove()
})

const sleep = (seconds: number) => ({ sql: `select pg_sleep(${seconds})`, parameters: [] })

test('each pipelined statement has its own timeout, however long the earlier ones take', async () => {
  const transaction = await sessions.begin()
  const queries = [0.4, 0.4, 0.4, 0.4].map((seconds) => transaction.query(sleep(seconds)))
  expect(await Promise.all(queries)).toHaveLength(4)
  await transaction.commit()
})

test('a statement that times out fails the later ones, and the connection is released', async () => {
  const transaction = await sessions.begin()
  const queries = [0.1, 5, 0.1].map((seconds) => transaction.query(sleep(seconds)))
  const settled = await Promise.allSettled(queries)
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  await transaction.rollback()
  expect((await sessions.read(sleep(0))).rows).toHaveLength(1)
})
