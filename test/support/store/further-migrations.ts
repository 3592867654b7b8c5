import { type Kysely, sql } from 'kysely'
import {
  dataType,
  type Migrations,
} from '../../../packages/server/src/kernel/storage/migrations/building.ts'
import { ownMigrations } from '../../../packages/server/src/kernel/storage/migrations/index.ts'
import { parsePostgresAddress } from '../../../packages/server/src/kernel/storage/postgres/address.ts'
import { openDatabase } from '../../../packages/server/src/kernel/storage/postgres/database.ts'
import { migratePostgres } from '../../../packages/server/src/kernel/storage/postgres/migrate.ts'
import type { Tables } from '../../../packages/server/src/kernel/storage/schema.ts'
import { openMigrated } from '../../../packages/server/src/kernel/storage/sqlite/opening.ts'
import type { TestDatabase } from './database.ts'

const oldestRelease = '0.1.0'

/** Migrations of a release after this one: they build indexes, and alter and rewrite a table. */
export const furtherMigrations: Migrations = {
  '9997-key-by-time': {
    async up(db: Kysely<Tables>) {
      const index = db.schema.createIndex('jwt_key_by_time').ifNotExists()
      await index.on('jwt_key').column('create_time').execute()
    },
    oldestRelease,
  },
  '9998-event-by-time': {
    async up(db: Kysely<Tables>) {
      const index = db.schema.createIndex('event_by_hash').ifNotExists()
      await index.on('event').column('time').execute()
    },
    oldestRelease,
  },
  '9999-notes': {
    async up(db: Kysely<Tables>) {
      await db.schema
        .alterTable('jwt_key')
        .addColumn('note', dataType(db, 'nullable text'))
        .execute()
      await sql`update jwt_key set note = 'key ' || id`.execute(db)
    },
    oldestRelease,
  },
}

/** Upgrades the database as a replica of a release with the further migrations does. */
export async function upgrade(
  { engine, url }: Pick<TestDatabase, 'engine' | 'url'>,
  onWait?: (cause: string) => void,
) {
  const all = { ...ownMigrations, ...furtherMigrations }
  if (engine === 'sqlite') {
    const connection = await openMigrated({ file: url.slice('sqlite:'.length) }, all)
    connection.close()
    return
  }
  const newer = openDatabase(parsePostgresAddress(url), 'primary')
  await migratePostgres(newer, all, onWait).finally(() => newer.close())
}
