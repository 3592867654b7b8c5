import { afterAll, expect, onTestFinished, test } from 'vitest'
import { parsePostgresAddress } from '../../packages/server/src/kernel/storage/postgres/address.ts'
import {
  openDatabase,
  type PostgresDatabase,
} from '../../packages/server/src/kernel/storage/postgres/database.ts'
import { createDatabase } from '../support/store/database.ts'

const database = await createDatabase('postgres')
const sessions = openDatabase(
  parsePostgresAddress(`${database.url}&statement_timeout=500&pool_size=2`),
  'primary',
)

afterAll(async () => {
  await sessions.close()
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

test('a session of its own prepares statements, unless the address forbids it', async () => {
  const unprepared = openDatabase(parsePostgresAddress(`${database.url}&prepared=off`), 'primary')
  onTestFinished(() => unprepared.close())
  expect(await preparedStatements(sessions)).toBe(1)
  expect(await preparedStatements(unprepared)).toBe(0)
})

test('a statement is prepared again if a migration changes the columns of its result', async () => {
  const statement = { sql: 'select * from item where id = $1', parameters: [1] }
  await database.query('create table item as select 1 as id')
  expect((await sessions.read(statement)).rows).toEqual([{ id: 1 }])
  await database.query("alter table item add column label text default 'new'")
  expect((await sessions.read(statement)).rows).toEqual([{ id: 1, label: 'new' }])

  const transaction = await sessions.begin()
  await transaction.query(statement)
  await transaction.commit()
})

async function preparedStatements(opened: PostgresDatabase): Promise<number> {
  const transaction = await opened.begin()
  const statement = { sql: 'select $1::integer', parameters: [1] }
  await Promise.all([transaction.query(statement), transaction.query(statement)])
  const { rows } = await transaction.query<{ count: number }>({
    sql: 'select count(*) as count from pg_prepared_statements',
    parameters: [],
  })
  await transaction.rollback()
  return rows[0]?.count ?? -1
}
