import { type Kysely, sql } from 'kysely'
import { genesisHash } from '../../../client/src/log/chain.ts'
import { systemLedgerId } from '../../core/ledger/chain.ts'
import type { Tables } from '../schema.ts'
import { type BuildIndex, type ColumnType, createTable, type SchemaMigration } from './building.ts'

const tables: Record<string, Record<string, ColumnType>> = {
  /** For each migration, the oldest release that works on the schema that it leaves. */
  migration_release: { name: 'key text', oldest_release: 'text' },
  project: { id: 'key text', name: 'unique text', create_time: 'text', update_time: 'text' },
  ledger: { project_id: 'key text', revision: 'bigint', hash: 'text' },
  event: {
    project_id: 'key text',
    revision: 'key bigint',
    type: 'text',
    time: 'text',
    actor_id: 'nullable text',
    actor_name: 'text',
    actor: 'nullable text',
    person: 'nullable text',
    subject_type: 'text',
    subject_id: 'text',
    changes: 'nullable text',
    request_id: 'text',
    hash: 'text',
  },
  jwt_key: {
    project_id: 'key text',
    id: 'key text',
    label: 'text',
    algorithm: 'text',
    public_key_pem: 'text',
    enabled: 'integer',
    expire_time: 'nullable text',
    create_time: 'text',
    update_time: 'text',
    publish_time: 'text',
    jws_algorithm: 'text',
    jwk: 'text',
    bits: 'nullable integer',
    thumbprint: 'text',
    spki_sha256: 'text',
    material_sha256: 'text',
    normalised: 'text',
    published_kid: 'nullable text',
    introduced_by: 'nullable text',
    activate_time: 'nullable text',
  },
  published_kid: { project_id: 'key text', kid: 'key text', thumbprint: 'text' },
  rotation: {
    project_id: 'key text',
    id: 'key text',
    from_kid: 'text',
    to_kid: 'text',
    create_time: 'text',
    update_time: 'text',
    token_lifetime: 'integer',
    outcome: 'nullable text',
    end_time: 'nullable text',
  },
  /** What `pubring audit` has done with each key, so that it resumes and reports a weakness once. */
  key_audit: {
    project_id: 'key text',
    key_id: 'key text',
    passed_rules: 'nullable text',
    passed_time: 'nullable text',
    weaknesses: 'text',
  },
  api_key: {
    id: 'key text',
    name: 'text',
    role: 'text',
    project_id: 'nullable text',
    prefix: 'text',
    digest: 'unique text',
    enabled: 'integer',
    create_time: 'text',
    expire_time: 'nullable text',
    last_use_time: 'nullable text',
    rule_id: 'nullable text',
    issuer: 'nullable text',
    subject: 'nullable text',
    successor: 'nullable text',
    session_id: 'nullable text',
  },
  person: {
    id: 'key text',
    issuer: 'text',
    subject: 'text',
    name: 'nullable text',
    email: 'nullable text',
    first_sign_in_time: 'text',
    last_sign_in_time: 'text',
  },
  session: {
    id: 'key text',
    digest: 'unique text',
    person_id: 'nullable text',
    person: 'nullable text',
    api_key_id: 'nullable text',
    sign_in_time: 'nullable text',
    create_time: 'text',
    expire_time: 'text',
    last_use_time: 'text',
  },
  sign_in_rule: {
    id: 'key text',
    name: 'text',
    issuer: 'text',
    conditions: 'text',
    role: 'text',
    project_id: 'nullable text',
    enabled: 'integer',
    create_time: 'text',
    update_time: 'text',
  },
  access_rule: {
    id: 'key text',
    name: 'text',
    issuer: 'text',
    key_source: 'text',
    jwks_uri: 'nullable text',
    jwks: 'nullable text',
    audience: 'text',
    conditions: 'text',
    role: 'text',
    project_id: 'nullable text',
    single_use: 'integer',
    max_lifetime: 'integer',
    enabled: 'integer',
    create_time: 'text',
    update_time: 'text',
    last_exchange_time: 'nullable text',
  },
  used_token: { digest: 'key text', expire_time: 'text' },
  blocked_fingerprint: { fingerprint: 'key text', create_time: 'text' },
  log_tree: {
    id: 'key text',
    origin: 'text',
    verifier_key: 'text',
    size: 'bigint',
    append_time: 'nullable text',
    checkpoint_size: 'bigint',
    checkpoint: 'nullable text',
    end_time: 'nullable text',
    next_origin: 'nullable text',
  },
  log_entry: { position: 'key bigint', ledger_id: 'text', revision: 'bigint', content: 'text' },
  log_tile: { level: 'key integer', position: 'key bigint', hashes: 'text' },
  log_ledger: { ledger_id: 'key text', blinding: 'text', hash: 'text' },
}

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

  // A text is found in all projects by these. What a registration pays for each was measured: labels
  // and hashes cost it an entry in a random place, request ids one at the end, and deletions none.
  // Keys of self-rotations alone have an entry.
  jwt_key_introduced: (index) =>
    index
      .on('jwt_key')
      .columns(['project_id', 'introduced_by'])
      .where(sql.ref('introduced_by'), 'is not', null),
  jwt_key_by_thumbprint: (index) => index.on('jwt_key').column('thumbprint'),
  jwt_key_by_spki: (index) => index.on('jwt_key').column('spki_sha256'),
  jwt_key_by_label: (index) => index.on('jwt_key').expression(sql`lower(label)`),
  published_kid_by_kid: (index) => index.on('published_kid').columns(['kid', 'project_id']),
  event_by_request: (index) =>
    index.on('event').columns(['request_id', 'time', 'project_id', 'revision']),
  // The history of all ledgers reads these, newest first. The last one holds only events by people.
  event_by_time: (index) => index.on('event').columns(['time', 'project_id', 'revision']),
  event_by_type: (index) => index.on('event').columns(['type', 'time', 'project_id', 'revision']),
  event_by_person: (index) =>
    index
      .on('event')
      .columns(['person', 'time', 'project_id', 'revision'])
      .where(sql.ref('person'), 'is not', null),
  event_of_deleted_key: (index) =>
    index.on('event').column('subject_id').where(sql.ref('type'), '=', 'key.deleted'),
  event_of_deleted_key_in_project: (index) =>
    index
      .on('event')
      .columns(['project_id', 'subject_id'])
      .where(sql.ref('type'), '=', 'key.deleted'),
  api_key_by_name: (index) =>
    index.on('api_key').expression(sql`lower(name)`).where(sql.ref('rule_id'), 'is', null),
  api_key_by_prefix: (index) =>
    index.on('api_key').column('prefix').where(sql.ref('rule_id'), 'is', null),
}

/** All tables of the first release. The file is long because it lists every column. */
export const firstTables: SchemaMigration = {
  oldestRelease: '1.0.0',
  async up(db: Kysely<Tables>) {
    for (const [name, columns] of Object.entries(tables)) await createTable(db, name, columns)
    for (const [name, build] of Object.entries(indexes)) {
      await build(db.schema.createIndex(name)).execute()
    }
    await db
      .insertInto('ledger')
      .values({ project_id: systemLedgerId, revision: 0, hash: genesisHash })
      .execute()
  },
}
