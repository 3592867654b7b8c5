import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { genesisHash } from '../../../client/src/log/chain.ts'
import { systemLedgerId } from '../../core/ledger/chain.ts'
import type { Tables } from '../schema.ts'

export const core: Migration = {
  async up(db: Kysely<Tables>) {
    await createProjects(db)
    await createLedgers(db)
    await createKeys(db)
    await createApiKeys(db)
    await db.schema
      .createTable('blocked_fingerprint')
      .addColumn('fingerprint', 'text', (column) => column.primaryKey())
      .addColumn('create_time', 'text', (column) => column.notNull())
      .execute()
    await db
      .insertInto('ledger')
      .values({ project_id: systemLedgerId, revision: 0, hash: genesisHash })
      .execute()
  },
}

async function createProjects(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('project')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('create_time', 'text', (column) => column.notNull())
    .addColumn('update_time', 'text', (column) => column.notNull())
    .execute()
}

async function createLedgers(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('ledger')
    .addColumn('project_id', 'text', (column) => column.primaryKey())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('event')
    .addColumn('project_id', 'text', (column) => column.notNull())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('time', 'text', (column) => column.notNull())
    .addColumn('actor_id', 'text')
    .addColumn('actor_name', 'text', (column) => column.notNull())
    .addColumn('subject_type', 'text', (column) => column.notNull())
    .addColumn('subject_id', 'text', (column) => column.notNull())
    .addColumn('changes', 'text')
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('event_pk', ['project_id', 'revision'])
    .execute()
}

async function createKeys(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('jwt_key')
    .addColumn('project_id', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('label', 'text', (column) => column.notNull())
    .addColumn('algorithm', 'text', (column) => column.notNull())
    .addColumn('public_key_pem', 'text', (column) => column.notNull())
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('expire_time', 'text')
    .addColumn('create_time', 'text', (column) => column.notNull())
    .addColumn('update_time', 'text', (column) => column.notNull())
    .addColumn('publish_time', 'text', (column) => column.notNull())
    .addColumn('jws_algorithm', 'text', (column) => column.notNull())
    .addColumn('jwk', 'text', (column) => column.notNull())
    .addColumn('bits', 'integer')
    .addColumn('thumbprint', 'text', (column) => column.notNull())
    .addColumn('spki_sha256', 'text', (column) => column.notNull())
    .addColumn('material_sha256', 'text', (column) => column.notNull())
    .addColumn('normalised', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('jwt_key_pk', ['project_id', 'id'])
    .addUniqueConstraint('jwt_key_thumbprint', ['project_id', 'thumbprint'])
    .execute()
  await db.schema.createIndex('jwt_key_material').on('jwt_key').column('material_sha256').execute()
}

async function createApiKeys(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('api_key')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('project_id', 'text')
    .addColumn('prefix', 'text', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull().unique())
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('create_time', 'text', (column) => column.notNull())
    .addColumn('expire_time', 'text')
    .addColumn('last_use_time', 'text')
    .execute()
}
