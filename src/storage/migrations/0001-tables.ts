import { type Kysely, sql } from 'kysely'
import { genesisHash } from '../../../client/src/log/chain.ts'
import { systemLedgerId } from '../../core/ledger/chain.ts'
import type { Tables } from '../schema.ts'
import { type BuildIndex, createTable, type SchemaMigration } from './building.ts'
import { firstTables } from './first-tables.ts'

const indexes: Record<string, BuildIndex> = {
  /** Finds the last event of a subject, with which its row is compared whenever it is used. */
  event_subject: (index) => index.on('event').columns(['subject_id', 'project_id', 'revision']),
  jwt_key_thumbprint: (index) => index.on('jwt_key').columns(['project_id', 'thumbprint']).unique(),
  jwt_key_material: (index) => index.on('jwt_key').column('material_sha256'),
  /** Counting the keys reads only this index, which is a hundredth of the size of the rows. */
  jwt_key_census: (index) => index.on('jwt_key').columns(['algorithm', 'enabled', 'expire_time']),
  person_identity: (index) => index.on('person').columns(['subject', 'issuer']).unique(),
  session_person: (index) => index.on('session').column('person_id'),
  /** Also finds the API keys without a rule, among many more that were exchanged. */
  api_key_rule: (index) => index.on('api_key').column('rule_id'),
  api_key_expiry: (index) => index.on('api_key').column('expire_time'),
  api_key_voucher: (index) =>
    index
      .on('api_key')
      .columns(['project_id', 'subject'])
      .where(sql.ref('successor'), 'is not', null),
  used_token_expiry: (index) => index.on('used_token').column('expire_time'),
  log_entry_ledger: (index) => index.on('log_entry').columns(['ledger_id', 'position']),

  /** Holds only keys that another key introduced. */
  jwt_key_introduced: (index) =>
    index
      .on('jwt_key')
      .columns(['project_id', 'introduced_by'])
      .where(sql.ref('introduced_by'), 'is not', null),

  // The search finds a text in all projects by these. They cost a registration an entry in a random
  // place each.
  jwt_key_by_thumbprint: (index) => index.on('jwt_key').column('thumbprint'),
  jwt_key_by_spki: (index) => index.on('jwt_key').column('spki_sha256'),
  jwt_key_by_label: (index) => index.on('jwt_key').expression(sql`lower(label)`),
  published_kid_by_kid: (index) => index.on('published_kid').columns(['kid', 'project_id']),

  // The history of all ledgers reads these, newest first. Each event has an entry near their ends; in
  // the last one only if a person caused it.
  event_by_request: (index) =>
    index.on('event').columns(['request_id', 'time', 'project_id', 'revision']),
  event_by_time: (index) => index.on('event').columns(['time', 'project_id', 'revision']),
  event_by_type: (index) => index.on('event').columns(['type', 'time', 'project_id', 'revision']),
  event_by_subject: (index) =>
    index.on('event').columns(['subject_id', 'time', 'project_id', 'revision']),
  event_by_person: (index) =>
    index
      .on('event')
      .columns(['person', 'time', 'project_id', 'revision'])
      .where(sql.ref('person'), 'is not', null),
}

/** Creates all tables and indexes, and the head of the system's ledger. */
export const createFirstTables: SchemaMigration = {
  oldestRelease: '1.0.0',
  async up(db: Kysely<Tables>) {
    /** For each migration, the oldest release that works on the schema that it leaves. */
    await createTable(db, 'migration_release', { name: 'key text', oldest_release: 'text' })
    for (const [name, columns] of Object.entries(firstTables)) await createTable(db, name, columns)
    for (const [name, build] of Object.entries(indexes)) {
      await build(db.schema.createIndex(name)).execute()
    }
    await db
      .insertInto('ledger')
      .values({ project_id: systemLedgerId, revision: 0, hash: genesisHash })
      .execute()
  },
}
