import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** For each migration, the oldest release that works on the schema that it leaves. */
export const releases: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('migration_release')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('oldest_release', 'text', (column) => column.notNull())
      .execute()
  },
}
