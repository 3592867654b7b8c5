import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Tables } from '../schema.ts'

/** People and workloads as actors of events; those of earlier events are API keys and commands. */
export const actors: Migration = {
  async up(db: Kysely<Tables>) {
    await db.schema.alterTable('event').addColumn('actor', 'text').execute()
  },
}
