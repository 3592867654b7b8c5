import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Tables } from '../schema.ts'

/** People who sign in, their sessions, and the rules that give them roles. */
export const people: Migration = {
  async up(db: Kysely<Tables>) {
    await db.schema
      .createTable('person')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('issuer', 'text', (column) => column.notNull())
      .addColumn('subject', 'text', (column) => column.notNull())
      .addColumn('name', 'text')
      .addColumn('email', 'text')
      .addColumn('first_sign_in_time', 'text', (column) => column.notNull())
      .addColumn('last_sign_in_time', 'text', (column) => column.notNull())
      .addUniqueConstraint('person_identity', ['subject', 'issuer'])
      .execute()
    await db.schema
      .createTable('sign_in_rule')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('issuer', 'text', (column) => column.notNull())
      .addColumn('conditions', 'text', (column) => column.notNull())
      .addColumn('role', 'text', (column) => column.notNull())
      .addColumn('project_id', 'text')
      .addColumn('enabled', 'integer', (column) => column.notNull())
      .addColumn('create_time', 'text', (column) => column.notNull())
      .addColumn('update_time', 'text', (column) => column.notNull())
      .execute()
    await createSessions(db)
  },
}

async function createSessions(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('session')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('digest', 'text', (column) => column.notNull().unique())
    .addColumn('person_id', 'text')
    .addColumn('person', 'text')
    .addColumn('api_key_id', 'text')
    .addColumn('sign_in_time', 'text')
    .addColumn('create_time', 'text', (column) => column.notNull())
    .addColumn('expire_time', 'text', (column) => column.notNull())
    .addColumn('last_use_time', 'text', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('session_person').on('session').column('person_id').execute()
}
