import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import { createTable, type SchemaMigration } from './building.ts'

/** Rotations, and when a key that got a new `expireTime` was activated. */
export const rotations: SchemaMigration = {
  async up(db: Kysely<Tables>) {
    await db.schema.alterTable('jwt_key').addColumn('activate_time', 'text').execute()
    await createTable(db, 'rotation', {
      project_id: 'key text',
      id: 'key text',
      from_kid: 'text',
      to_kid: 'text',
      create_time: 'text',
      update_time: 'text',
      disable_time: 'nullable text',
      delete_time: 'nullable text',
      due_time: 'nullable text',
      descendants: 'nullable integer',
      author: 'nullable text',
      waiting_reason: 'nullable text',
      outcome: 'nullable text',
      end_time: 'nullable text',
      scheduled_step: 'nullable text',
    })
    await db.schema.createIndex('rotation_due').on('rotation').column('due_time').execute()
  },
  oldestRelease: '0.1.0',
}
