import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Tables } from '../schema.ts'

/** Finds the events that say which keys have had a kid, without reading the ledgers. */
export const kids: Migration = {
  async up(db: Kysely<Tables>) {
    await db.schema
      .createIndex('event_kid')
      .ifNotExists()
      .on('event')
      .column('subject_id')
      .where(sql.ref('type'), '=', 'key.created')
      .execute()
  },
}
