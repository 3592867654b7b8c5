import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Tables } from '../schema.ts'

/** Rotations, and when a key that got a new `expireTime` was activated. */
export const rotations: Migration = {
  async up(db: Kysely<Tables>) {
    await db.schema.alterTable('jwt_key').addColumn('activate_time', 'text').execute()
    await db.schema
      .createTable('rotation')
      .addColumn('project_id', 'text', (column) => column.notNull())
      .addColumn('id', 'text', (column) => column.notNull())
      .addColumn('from_kid', 'text', (column) => column.notNull())
      .addColumn('to_kid', 'text', (column) => column.notNull())
      .addColumn('create_time', 'text', (column) => column.notNull())
      .addColumn('update_time', 'text', (column) => column.notNull())
      .addColumn('disable_time', 'text')
      .addColumn('delete_time', 'text')
      .addColumn('due_time', 'text')
      .addColumn('descendants', 'integer')
      .addColumn('author', 'text')
      .addColumn('waiting_reason', 'text')
      .addColumn('outcome', 'text')
      .addColumn('end_time', 'text')
      .addColumn('scheduled_step', 'text')
      .addPrimaryKeyConstraint('rotation_pk', ['project_id', 'id'])
      .execute()
    await db.schema.createIndex('rotation_due').on('rotation').column('due_time').execute()
  },
}
