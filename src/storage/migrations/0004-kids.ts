import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Tables } from '../schema.ts'

/** Which material a kid ever had stands in the ledgers: this index finds it without reading them. */
export const kids: Migration = {
  async up(db: Kysely<Tables>) {
    await db.schema
      .createIndex('event_kid')
      .on('event')
      .column('subject_id')
      .where(sql.ref('type'), '=', 'key.created')
      .execute()
  },
}
