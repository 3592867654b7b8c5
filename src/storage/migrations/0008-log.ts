import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Tables } from '../schema.ts'

/** The Merkle tree over the heads of all ledgers. */
export const log: Migration = {
  async up(db: Kysely<Tables>) {
    await db.schema
      .createTable('log_epoch')
      .addColumn('epoch', 'integer', (column) => column.primaryKey())
      .addColumn('origin', 'text', (column) => column.notNull().unique())
      .addColumn('verifier_key', 'text', (column) => column.notNull())
      .addColumn('size', 'bigint', (column) => column.notNull())
      .addColumn('append_time', 'text')
      .addColumn('checkpoint_size', 'bigint', (column) => column.notNull())
      .addColumn('checkpoint', 'text')
      .execute()
    await db.schema
      .createTable('log_entry')
      .addColumn('epoch', 'integer', (column) => column.notNull())
      .addColumn('position', 'bigint', (column) => column.notNull())
      .addColumn('ledger_id', 'text', (column) => column.notNull())
      .addColumn('revision', 'bigint', (column) => column.notNull())
      .addColumn('content', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('log_entry_pk', ['epoch', 'position'])
      .execute()
    await db.schema
      .createIndex('log_entry_ledger')
      .on('log_entry')
      .columns(['ledger_id', 'epoch', 'position'])
      .execute()
    await db.schema
      .createTable('log_tile')
      .addColumn('epoch', 'integer', (column) => column.notNull())
      .addColumn('level', 'integer', (column) => column.notNull())
      .addColumn('position', 'bigint', (column) => column.notNull())
      .addColumn('hashes', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('log_tile_pk', ['epoch', 'level', 'position'])
      .execute()
    await db.schema
      .createTable('log_ledger')
      .addColumn('ledger_id', 'text', (column) => column.primaryKey())
      .addColumn('blinding', 'text', (column) => column.notNull())
      .addColumn('epoch', 'integer', (column) => column.notNull())
      .addColumn('hash', 'text', (column) => column.notNull())
      .execute()
  },
}
