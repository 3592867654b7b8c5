import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Tables } from '../schema.ts'

/**
 * Kids that callers chose for the JWKS. The table keeps those of deleted keys, with the key material
 * that each names for ever.
 */
export const publishedKids: Migration = {
  async up(db: Kysely<Tables>) {
    await db.schema.alterTable('jwt_key').addColumn('published_kid', 'text').execute()
    await db.schema
      .createTable('published_kid')
      .addColumn('project_id', 'text', (column) => column.notNull())
      .addColumn('kid', 'text', (column) => column.notNull())
      .addColumn('thumbprint', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('published_kid_pk', ['project_id', 'kid'])
      .execute()
  },
}
