import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newId } from '../../packages/server/src/kernel/values/ids.ts'
import { openStore } from '../../packages/server/src/registry.ts'
import { createDatabase, type TestDatabase } from '../support/store/database.ts'
import { upgrade } from '../support/store/further-migrations.ts'
import { createProject } from '../support/store/store.ts'
import { waitUntil } from '../support/waiting.ts'

let database: TestDatabase
let writer: pg.Client
beforeEach(async () => {
  database = await createDatabase('postgres')
  writer = new pg.Client(database.url)
  writer.on('error', () => {})
  await writer.connect()
})
afterEach(async () => {
  await writer.end()
})

/** The names of the indexes of the migrations, with whether they can be used. */
const indexes = () =>
  database.query(
    "select relname as name, indisvalid as valid from pg_index join pg_class on oid = indexrelid where relname in ('jwt_key_by_time', 'event_by_hash') order by 1",
  )
const bothValid = [
  { name: 'event_by_hash', valid: true },
  { name: 'jwt_key_by_time', valid: true },
]

/** As a replica of a release with the further migrations starts; then uses the database. */
async function open(): Promise<void> {
  await upgrade(database)
  const store = await openStore(database.url)
  await createProject(store, `p-${newId().slice(-12)}`)
  await store.close()
}

/** The backend that builds an index, once it waits for a transaction that is older. */
const builder = () =>
  waitUntil(async () => {
    const rows = await database.query(
      "select pid from pg_stat_activity where query like 'create index concurrently%' and wait_event_type = 'Lock' and datname = current_database()",
    )
    return rows[0]?.pid
  })

const insert = (id: string) => `insert into project values ('${id}', '${id}', 'now', 'now')`

/** An unfinished change of the table of keys. */
async function beginChange(): Promise<void> {
  await writer.query('begin')
  await writer.query("update jwt_key set label = label; delete from jwt_key where id = 'none'")
}

describe('an index of a migration', () => {
  test('is built while others write to the table, by one of several replicas', async () => {
    await beginChange()
    const opening = [open(), open(), open()]
    await builder()
    // A plain build would wait for the open change, and let no other one pass.
    await database.query("set statement_timeout = 1000; delete from jwt_key where id = 'none'")
    await database.query(insert('a'))
    await writer.query('commit')
    await Promise.all(opening)
    expect(await indexes()).toEqual(bothValid)
    const recorded = await database.query('select name from migration_release order by name')
    expect(recorded).toEqual(
      await database.query('select name from kysely_migration order by name'),
    )
  })

  test('is built again if a build was interrupted', async () => {
    await beginChange()
    const failing = open().catch((error) => error)
    const pid = await builder()
    await database.query(`select pg_terminate_backend(${pid})`)
    expect(await failing).toMatchObject({ code: 'storage_unavailable' })
    expect(await indexes()).toEqual([{ name: 'jwt_key_by_time', valid: false }])
    const reopening = open()
    await delay(300)
    await writer.query('commit')
    await reopening
    expect(await indexes()).toEqual(bothValid)
  })
})

test('an index of the same name in another schema is left alone', async () => {
  await database.query(`
    create schema other;
    create table other.foreign_rows (id int);
    create index jwt_key_by_time on other.foreign_rows (id);
    do $$ begin execute format('alter database %I set search_path = public, other', current_database()); end $$`)
  await open()
  const found = await database.query(
    "select relnamespace::regnamespace::text as schema from pg_class where relname = 'jwt_key_by_time' order by 1",
  )
  expect(found).toEqual([{ schema: 'other' }, { schema: 'public' }])
})

test('a statement of a migration that cannot succeed ends the start with its cause', async () => {
  await database.query(`
    create function refuse() returns trigger language plpgsql as $$ begin
      raise exception 'two keys have this note' using errcode = '23505';
    end $$;
    create trigger refuse before update on jwt_key execute function refuse()`)
  await expect(upgrade(database)).rejects.toMatchObject({
    code: '23505',
    message: 'two keys have this note',
  })
})

test('a migration that a standby did not confirm is attempted again', async () => {
  await database.query(`
    create function warn() returns trigger language plpgsql as $$ begin
      raise warning 'not replicated';
      return null;
    end $$;
    create constraint trigger warn after insert on migration_release
      deferrable initially deferred for each row execute function warn()`)
  await expect(upgrade(database)).rejects.toMatchObject({
    code: 'storage_unavailable',
    cause: { message: 'a synchronous standby did not confirm' },
  })
  await database.query('drop trigger warn on migration_release')
  await open()
  expect(await indexes()).toEqual(bothValid)
})

test('a migration names what it waits for although it uses all connections of the pool', async () => {
  await database.query(
    'create index jwt_key_by_time on jwt_key (create_time); create index event_by_hash on event (time)',
  )
  await beginChange()
  const causes: string[] = []
  const url = `${database.url}&pool_size=2`
  const upgrading = upgrade({ ...database, url }, (cause) => causes.push(cause))
  await waitUntil(async () => causes.some((cause) => /waits for pid \d+/.test(cause)))
  await writer.query('commit')
  await upgrading
})
