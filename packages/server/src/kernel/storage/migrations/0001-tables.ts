import { genesisHash } from '@pubring/client/internal/log/chain'
import { type Kysely, sql } from 'kysely'
import { systemLedgerId } from '../../ledger/chain.ts'
import type { Tables } from '../schema.ts'
import { createTable, type SchemaMigration } from './building.ts'
import { firstTables } from './first-tables.ts'

/** The indexes of the first release, as SQL after `create`. */
const indexes = [
  // Finds the last event of a subject, with which its row is compared whenever it is used.
  'index event_subject on event (subject_id, project_id, revision)',
  'unique index jwt_key_thumbprint on jwt_key (project_id, thumbprint)',
  'index jwt_key_material on jwt_key (material_sha256)',
  // Counting the keys reads only this index, which is a hundredth of the size of the rows.
  'index jwt_key_census on jwt_key (algorithm, enabled, expire_time)',
  'unique index person_identity on person (subject, issuer)',
  'index session_person on session (person_id)',
  // Also finds the API keys without a rule, among many more that were exchanged.
  'index api_key_rule on api_key (rule_id)',
  'index api_key_expiry on api_key (expire_time)',
  'index api_key_voucher on api_key (project_id, subject) where successor is not null',
  'index used_token_expiry on used_token (expire_time)',
  'index log_entry_ledger on log_entry (ledger_id, position)',
  // Holds only keys that another key introduced.
  'index jwt_key_introduced on jwt_key (project_id, introduced_by) where introduced_by is not null',

  // The search finds a text in all projects by these. They cost a registration an entry in a random
  // place each.
  'index jwt_key_by_thumbprint on jwt_key (thumbprint)',
  'index jwt_key_by_spki on jwt_key (spki_sha256)',
  'index jwt_key_by_label on jwt_key (lower(label))',
  'index published_kid_by_kid on published_kid (kid, project_id)',

  // The history of all ledgers reads these, newest first. Each event has an entry near their ends; in
  // the last one only if a person caused it.
  'index event_by_request on event (request_id, time, project_id, revision)',
  'index event_by_time on event (time, project_id, revision)',
  'index event_by_type on event (type, time, project_id, revision)',
  'index event_by_subject on event (subject_id, time, project_id, revision)',
  'index event_by_person on event (person, time, project_id, revision) where person is not null',
]

/** Creates all tables and indexes, and the head of the system's ledger. */
export const createFirstTables: SchemaMigration = {
  oldestRelease: '1.0.0',
  async up(db: Kysely<Tables>) {
    // For each migration, the oldest release that works on the schema that it leaves. */
    await createTable(db, 'migration_release', { name: 'key text', oldest_release: 'text' })
    for (const [name, columns] of Object.entries(firstTables)) await createTable(db, name, columns)
    for (const index of indexes) await sql`create ${sql.raw(index)}`.execute(db)
    await db
      .insertInto('ledger')
      .values({ project_id: systemLedgerId, revision: 0, hash: genesisHash })
      .execute()
  },
}
