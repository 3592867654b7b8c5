import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Tables } from '../schema.ts'

/** Trust policies, and the API keys exchanged under them. */
export const trustPolicies: Migration = {
  async up(db: Kysely<Tables>) {
    await createPolicies(db)
    await createExchangedKeys(db)
    await db.schema
      .createTable('used_token')
      .addColumn('digest', 'text', (column) => column.primaryKey())
      .addColumn('expire_time', 'text', (column) => column.notNull())
      .execute()
    for (const table of ['exchanged_key', 'used_token']) {
      await db.schema.createIndex(`${table}_expiry`).on(table).column('expire_time').execute()
    }
  },
}

async function createPolicies(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('trust_policy')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('key_source', 'text', (column) => column.notNull())
    .addColumn('jwks_uri', 'text')
    .addColumn('jwks', 'text')
    .addColumn('audience', 'text', (column) => column.notNull())
    .addColumn('conditions', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('project_id', 'text')
    .addColumn('single_use', 'integer', (column) => column.notNull())
    .addColumn('max_lifetime', 'integer', (column) => column.notNull())
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('create_time', 'text', (column) => column.notNull())
    .addColumn('update_time', 'text', (column) => column.notNull())
    .addColumn('last_exchange_time', 'text')
    .execute()
}

async function createExchangedKeys(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('exchanged_key')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('digest', 'text', (column) => column.notNull().unique())
    .addColumn('prefix', 'text', (column) => column.notNull())
    .addColumn('policy_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('project_id', 'text')
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('create_time', 'text', (column) => column.notNull())
    .addColumn('expire_time', 'text', (column) => column.notNull())
    .execute()
  await db.schema
    .createIndex('exchanged_key_policy')
    .on('exchanged_key')
    .column('policy_id')
    .execute()
}
