import type { Kysely } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import { keySetOf } from '../../../packages/server/src/features/keys/key-sets.ts'
import { readProjectPage } from '../../../packages/server/src/features/projects/reads.ts'
import { features } from '../../../packages/server/src/features.ts'
import type { Store } from '../../../packages/server/src/kernel/context.ts'
import { tablesOf } from '../../../packages/server/src/kernel/feature.ts'
import { verifyLedgers } from '../../../packages/server/src/kernel/ledger/all-ledgers.ts'
import { isWhole } from '../../../packages/server/src/kernel/ledger/verification.ts'
import { createTable } from '../../../packages/server/src/kernel/storage/migrations/building.ts'
import { ownMigrations } from '../../../packages/server/src/kernel/storage/migrations/index.ts'
import type { Tables } from '../../../packages/server/src/kernel/storage/schema.ts'
import { openMigrated } from '../../../packages/server/src/kernel/storage/sqlite/opening.ts'
import {
  copyRegistry,
  openExistingStore,
  openLedgerReader,
  openStore,
} from '../../../packages/server/src/registry.ts'
import { readVersion } from '../../../packages/server/src/runtime/version.ts'
import {
  createBlankDatabase,
  createDatabase,
  type TestDatabase,
} from '../../support/store/database.ts'
import { furtherMigrations, upgrade } from '../../support/store/further-migrations.ts'
import { keyRecord } from '../../support/store/key-records.ts'
import { createProject, limits, origin } from '../../support/store/store.ts'

let database: TestDatabase
beforeEach(async () => {
  database = await createDatabase()
})

test('the migrations make the tables that the features declare', async () => {
  const declared = await createBlankDatabase('sqlite')
  const file = declared.url.slice('sqlite:'.length)
  const createDeclared = async (db: Kysely<Tables>) => {
    for (const { name, columns } of tablesOf(features)) await createTable(db, name, columns)
    await createTable(db, 'migration_release', { name: 'key text', oldest_release: 'text' })
  }
  const all = { declared: { up: createDeclared, oldestRelease: '1.0.0' } }
  ;(await openMigrated({ file }, all)).close()
  const columns = `
    select m.name as "table", c.name, c.type, c."notnull", c.pk, (
      select count(*) from pragma_index_list(m.name) i, pragma_index_info(i.name) part
      where i.origin = 'u' and part.name = c.name) as "unique"
    from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table' order by 1, 2`
  const [found, expected] = [
    await (await createDatabase('sqlite')).query(columns),
    await declared.query(columns),
  ]
  const names = new Set(expected.map(({ table }) => table))
  // Those of a feature that was taken out stay.
  expect(found.filter(({ table }) => names.has(table))).toEqual(expected)
})

test('every migration records the oldest release that can run beside it', async () => {
  const executed = await database.query('select name from kysely_migration order by name')
  const recorded = await database.query('select * from migration_release order by name')
  expect(recorded.map(({ name }) => ({ name }))).toEqual(executed)
  for (const { oldest_release } of recorded) expect(oldest_release).toBe('1.0.0')
})

test('a release with further migrations upgrades a registry, and this one works on beside it', async () => {
  const store = await openStore(database.url)
  const projectId = (await createProject(store, 'payments')).id
  const put = (to: Store) => {
    const key = keyRecord(projectId)
    return to.commit(keyChanges.createKey, { origin: origin(), key, limits })
  }
  const kids = [(await put(store)).id, (await put(store)).id]
  const before = await database.query('select * from jwt_key order by id')
  // Two replicas of the new release start, while this one is running.
  await upgrade(database)
  await upgrade(database)
  const after = await database.query('select * from jwt_key order by id')
  expect(after).toEqual(before.map((row) => ({ ...row, note: `key ${row.id}` })))
  kids.push((await put(store)).id)
  await store.close()

  const again = await openExistingStore(database.url)
  expect((await keySetOf(again, projectId))?.keys.map(({ id }) => id).sort()).toEqual(kids.sort())
  kids.push((await put(again)).id)
  await again.close()
  const ledgers = await openLedgerReader(database.url)
  expect((await Array.fromAsync(verifyLedgers(ledgers))).every(isWhole)).toBe(true)
  await ledgers.close()
  const recorded = await database.query('select name from migration_release order by name')
  expect(recorded.map(({ name }) => name)).toEqual(
    Object.keys({ ...ownMigrations, ...furtherMigrations }),
  )
})

describe('on the schema of a newer release', () => {
  /** Migrates as a newer release does: a column, a table, and the record of its migration. */
  async function migrateFurther(oldestRelease?: string): Promise<void> {
    await database.execute('alter table jwt_key add column note text')
    await database.execute('create table note (id text primary key)')
    await database.execute("insert into kysely_migration values ('9999-notes', '2030-01-01')")
    if (oldestRelease === undefined) return
    await database.execute(
      `insert into migration_release values ('9999-notes', '${oldestRelease}')`,
    )
  }

  const version = readVersion()
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => parseInt(part, 10))

  test.each([version, '0.0.9'])(
    'that %s can run beside, this one starts, reads and writes',
    async (oldest) => {
      await migrateFurther(oldest)
      const store = await openStore(database.url)
      await createProject(store, 'orders')
      await store.close()
      const again = await openExistingStore(database.url)
      expect(await readProjectPage(again.reader, { limit: 5 })).toMatchObject([{ name: 'orders' }])
      await again.close()
    },
  )

  test.each([`${major}.${minor}.${patch + 1}`, `${major}.${minor + 10}.0`])(
    'that needs %s, this one does not start, and says so',
    async (oldest) => {
      await migrateFurther(oldest)
      const message = `The database was written by a newer Pubring (it has the migration 9999-notes), and this is ${version}. Start ${oldest} or later, or restore a backup of this one.`
      await expect(openStore(database.url)).rejects.toThrow(message)
      await expect(openLedgerReader(database.url)).rejects.toThrow(message)
    },
  )

  test('that records no release, this one does not start', async () => {
    await migrateFurther()
    await expect(openStore(database.url)).rejects.toThrow(
      'The database was written by a newer Pubring (it has the migration 9999-notes). Start that release, or restore a backup of this one.',
    )
  })

  test('this one copies nothing, since it would leave out what it does not know', async () => {
    await migrateFurther(version)
    const target = await createBlankDatabase()
    await expect(copyRegistry(database.url, target.url, () => {})).rejects.toThrow(
      'stores what this release would leave out',
    )
  })
})
