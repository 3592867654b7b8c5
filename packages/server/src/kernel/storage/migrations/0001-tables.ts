import { genesisHash } from '@pubring/client/internal/log/chain'
import { type Kysely, sql } from 'kysely'
import { systemLedgerId } from '../../ledger/chain.ts'
import type { Schema, Tables } from '../schema.ts'
import { createTable, type SchemaMigration } from './building.ts'

/**
 * Creates all tables and indexes, and the head of the system's ledger. Until the first release these are
 * the tables as they are declared. From then on this file must list them itself, and later columns come
 * from migrations of their own.
 */
export const createTables = ({ tables, indexes }: Schema): SchemaMigration => ({
  oldestRelease: '1.0.0',
  async up(db: Kysely<Tables>) {
    await createTable(db, 'migration_release', { name: 'key text', oldest_release: 'text' })
    for (const { name, columns } of tables) await createTable(db, name, columns)
    for (const index of [...tables.flatMap((each) => each.indexes), ...indexes]) {
      await sql`create ${sql.raw(index)}`.execute(db)
    }
    await db
      .insertInto('ledger')
      .values({ project_id: systemLedgerId, revision: 0, hash: genesisHash })
      .execute()
  },
})
