import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Tables } from '../schema.ts'

/** What `pubring audit` has done with each key, so that it resumes and reports a weakness once. */
export const keyAudit: Migration = {
  async up(db: Kysely<Tables>) {
    await db.schema
      .createTable('key_audit')
      .addColumn('project_id', 'text', (column) => column.notNull())
      .addColumn('key_id', 'text', (column) => column.notNull())
      .addColumn('passed_rules', 'text')
      .addColumn('passed_time', 'text')
      .addColumn('weaknesses', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('key_audit_pk', ['project_id', 'key_id'])
      .execute()
  },
}
