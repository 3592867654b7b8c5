import { describe, expect, test } from 'vitest'
import { systemLedgerId } from '../../../packages/server/src/kernel/ledger/chain.ts'
import { copyRegistry, openLedgerReader, openStore } from '../../../packages/server/src/registry.ts'
import { createBlankDatabase, createDatabase } from '../../support/store/database.ts'

const notOurs = /holds tables \(orders\) of another program, and is not a database of Pubring/

describe('the database of another program', async () => {
  const other = await createBlankDatabase()
  await other.query('create table orders (id integer)')
  await other.query('insert into orders values (7)')
  const before = await other.dump()
  const source = await createDatabase()

  test.each<[string, () => Promise<unknown>]>([
    ['a server starts on it', () => openStore(other.url)],
    ['it is read', () => openLedgerReader(other.url)],
    ['it is the source of a copy', () => copyRegistry(other.url, source.url, async () => {})],
    ['it is the target of a copy', () => copyRegistry(source.url, other.url, async () => {})],
  ])('is named and left as it is when %s', async (_name, use) => {
    await expect(use()).rejects.toThrow(notOurs)
    expect(await other.dump()).toBe(before)
  })
})

test('migrations of another program are not those of a newer release', async () => {
  const other = await createBlankDatabase()
  await other.query('create table kysely_migration (name text, timestamp text)')
  await other.query("insert into kysely_migration values ('0001-tables', '2030-01-01')")
  await expect(openStore(other.url)).rejects.toThrow('(kysely_migration) of another program')
})

test('an empty database becomes one of Pubring, which is opened again', async () => {
  const blank = await createBlankDatabase()
  for (let start = 1; start <= 2; start += 1) await (await openStore(blank.url)).close()
  const ledgers = await openLedgerReader(blank.url)
  expect(await ledgers.ledgerHead(systemLedgerId)).toMatchObject({ revision: 0 })
  await ledgers.close()
})

test('what the engine and its extensions add does not count as tables of another program', async () => {
  const blank = await createBlankDatabase()
  if (blank.engine === 'postgres') await blank.query('create extension pg_stat_statements')
  else {
    await blank.query('create table sold (id integer primary key autoincrement)')
    await blank.query('drop table sold')
    expect(await blank.query('select name from sqlite_schema')).not.toEqual([])
  }
  await (await openStore(blank.url)).close()
})

test('a SQLite file that is marked as that of another application is refused', async () => {
  const other = await createBlankDatabase('sqlite')
  // Fossil.
  await other.query('pragma application_id = 252006673')
  await expect(openStore(other.url)).rejects.toThrow('is marked as that of another program')
})
