import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Tables } from '../schema.ts'

/** Finds the last event of a subject, with which its row is compared whenever it is used. */
export const eventSubjects: Migration = {
  async up(db: Kysely<Tables>) {
    await db.schema
      .createIndex('event_subject')
      .ifNotExists()
      .on('event')
      .columns(['subject_id', 'project_id', 'revision'])
      .execute()
  },
}

/** Those that say which keys have had a kid are found by the index of all subjects too. */
export const withoutEventKids: Migration = {
  async up(db: Kysely<Tables>) {
    await db.schema.dropIndex('event_kid').ifExists().execute()
  },
}
