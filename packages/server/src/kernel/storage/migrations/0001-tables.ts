import { genesisHash } from '@pubring/client/internal/log/chain'
import { type Kysely, sql } from 'kysely'
import { systemLedgerId } from '../../ledger/chain.ts'
import type { Columns, Tables } from '../schema.ts'
import { createTable, type SchemaMigration } from './building.ts'

/** The tables of the first release. Later columns and tables come from migrations of their own. */
const tables: Readonly<Record<string, Columns>> = {
  migration_release: { name: 'key text', oldest_release: 'text' },
  project: { id: 'key text', name: 'unique text', create_time: 'text', update_time: 'text' },
  ledger: {
    project_id: 'key text',
    revision: 'bigint',
    hash: 'text',
    eventless_time: 'nullable bigint',
  },
  event: {
    project_id: 'key text',
    revision: 'key bigint',
    type: 'text',
    time: 'text',
    actor_id: 'nullable text',
    actor_name: 'text',
    actor: 'nullable json',
    person: 'nullable text',
    subject_type: 'text',
    subject_id: 'text',
    changes: 'nullable json',
    published: 'nullable json',
    request_id: 'text',
    hash: 'text',
  },
  jwt_key: {
    project_id: 'key text',
    id: 'key text',
    label: 'text',
    algorithm: 'text',
    public_key_pem: 'text',
    enabled: 'boolean',
    expire_time: 'nullable text',
    create_time: 'text',
    update_time: 'text',
    publish_time: 'text',
    jws_algorithm: 'text',
    jwk: 'json',
    bits: 'nullable integer',
    thumbprint: 'text',
    spki_sha256: 'text',
    material_sha256: 'text',
    normalised: 'json',
    published_kid: 'nullable text',
    introduced_by: 'nullable text',
    activate_time: 'nullable text',
    end_reason: 'nullable text',
    end_time: 'nullable text',
  },
  published_kid: { project_id: 'key text', kid: 'key text', thumbprint: 'text' },
  blocked_fingerprint: { fingerprint: 'key text', create_time: 'text' },
  published_key_set: {
    project_id: 'key text',
    list: 'text',
    jwks: 'text',
    jwks_full: 'nullable text',
  },
  key_reporter: {
    project_id: 'key text',
    reporter: 'key text',
    owner: 'text',
    report_interval: 'integer',
    since: 'text',
    report_time: 'bigint',
    request_id: 'text',
  },
  key_use: {
    project_id: 'key text',
    reporter: 'key text',
    key_id: 'key text',
    last_time: 'bigint',
    last_exp: 'bigint',
  },
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
  api_key: {
    id: 'key text',
    name: 'text',
    role: 'text',
    project_id: 'nullable text',
    prefix: 'text',
    digest: 'unique text',
    enabled: 'boolean',
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
    claims: 'nullable json',
    first_sign_in_time: 'text',
    last_sign_in_time: 'text',
  },
  session: {
    id: 'key text',
    digest: 'unique text',
    issuer: 'nullable text',
    subject: 'nullable text',
    person: 'nullable json',
    api_key_id: 'nullable text',
    sign_in_time: 'nullable text',
    first_id: 'nullable text',
    approved_by: 'nullable text',
    client: 'nullable text',
    address: 'nullable text',
    create_time: 'text',
    expire_time: 'text',
    last_use_time: 'text',
  },
  registration_link: {
    project_id: 'key text',
    id: 'key text',
    note: 'text',
    digest: 'unique text',
    new_keys: 'text',
    algorithms: 'nullable json',
    return_url: 'nullable text',
    created_by: 'json',
    create_time: 'text',
    expire_time: 'text',
    session_digest: 'nullable text',
    revoke_time: 'nullable text',
  },
  access_rule: {
    id: 'key text',
    for: 'text',
    name: 'text',
    issuer: 'text',
    conditions: 'json',
    role: 'text',
    project_id: 'nullable text',
    enabled: 'boolean',
    create_time: 'text',
    update_time: 'text',
    key_source: 'nullable text',
    jwks_uri: 'nullable text',
    jwks: 'nullable json',
    audience: 'nullable text',
    single_use: 'nullable boolean',
    max_lifetime: 'nullable integer',
    last_exchange_time: 'nullable text',
  },
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
  log_entry: {
    position: 'key bigint',
    ledger_id: 'nullable text',
    revision: 'nullable bigint',
    content: 'text',
  },
  log_tile: { level: 'key integer', position: 'key bigint', hashes: 'text' },
  log_slot: { bucket: 'key integer', slot: 'key text', hash: 'text' },
  log_ledger: {
    ledger_id: 'key text',
    blinding: 'text',
    revision: 'bigint',
    hash: 'text',
    list: 'nullable text',
  },
  passed_key: { project_id: 'key text', key_id: 'key text', rules: 'text', time: 'text' },
}

const indexes = [
  // Finds the last event of a subject, with which its row is compared whenever it is used.
  'index event_subject on event (subject_id, project_id, revision)',
  // The history of all ledgers reads these, newest first. Each event has an entry near their ends; in
  // the last one only if a person caused it.
  'index event_by_request on event (request_id, time, project_id, revision)',
  'index event_by_time on event (time, project_id, revision)',
  'index event_by_type on event (type, time, project_id, revision)',
  'index event_by_subject on event (subject_id, time, project_id, revision)',
  'index event_by_person on event (person, time, project_id, revision) where person is not null',
  // Decides between two uses of a token in different ledgers.
  "unique index event_token_use on event (subject_id) where type = 'token.used'",
  'unique index jwt_key_thumbprint on jwt_key (project_id, thumbprint)',
  'index jwt_key_material on jwt_key (material_sha256)',
  // Counting the keys reads only this index, which is a hundredth of the size of the rows.
  'index jwt_key_census on jwt_key (algorithm, enabled, expire_time, end_reason)',
  // Holds only keys that another key or a registration link introduced.
  'index jwt_key_introduced on jwt_key (project_id, introduced_by) where introduced_by is not null',
  // The sum of the times of reports reads only this index.
  'index key_reporter_time on key_reporter (project_id, report_time)',
  // Each finds the last use of a key among those of all reporters without reading the others.
  'index key_use_time on key_use (project_id, key_id, last_time)',
  'index key_use_exp on key_use (project_id, key_id, last_exp)',
  // Also finds the API keys without a rule, among many more that were exchanged.
  'index api_key_rule on api_key (rule_id)',
  'index api_key_expiry on api_key (expire_time)',
  'index api_key_voucher on api_key (project_id, subject) where successor is not null',
  'unique index person_identity on person (subject, issuer)',
  'index session_person on session (subject, issuer)',
  'unique index registration_link_id on registration_link (id)',
  'unique index registration_link_session on registration_link (session_digest)',
  // Holds only links that nobody has opened, of which a project has few that have not expired.
  'index registration_link_open on registration_link (project_id, expire_time) where session_digest is null and revoke_time is null',
  'index log_entry_ledger on log_entry (ledger_id, position)',
  // Searches read the rest. Except for the ids, which begin with a time, they cost a registration an entry
  // in a random place each. This one has the labels, in which a text is found without reading the rows.
  'index jwt_key_by_id on jwt_key (id, label)',
  'index jwt_key_by_id_end on jwt_key (substr(id, 33))',
  'index project_by_id_end on project (substr(id, 33))',
  'index jwt_key_by_thumbprint on jwt_key (thumbprint)',
  'index jwt_key_by_spki on jwt_key (spki_sha256)',
  'index jwt_key_by_label on jwt_key (lower(label))',
  'index published_kid_by_kid on published_kid (kid, project_id)',
]

/** Creates all tables and indexes, and the head of the system's ledger. */
export const createTables: SchemaMigration = {
  oldestRelease: '1.0.0',
  async up(db: Kysely<Tables>) {
    for (const [name, columns] of Object.entries(tables)) await createTable(db, name, columns)
    for (const index of indexes) await sql`create ${sql.raw(index)}`.execute(db)
    await db
      .insertInto('ledger')
      .values({ project_id: systemLedgerId, revision: 0, hash: genesisHash })
      .execute()
  },
}
