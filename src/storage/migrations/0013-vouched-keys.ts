import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Tables } from '../schema.ts'

/** Keys that another key of the project vouched for. */
export const vouchedKeys: Migration = {
  async up(db: Kysely<Tables>) {
    await db.schema.alterTable('jwt_key').addColumn('introduced_by', 'text').execute()
    await db.schema.alterTable('exchanged_key').addColumn('successor', 'text').execute()
  },
}
