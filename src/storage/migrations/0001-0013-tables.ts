import { type Kysely, sql } from 'kysely'
import { genesisHash } from '../../../client/src/log/chain.ts'
import { systemLedgerId } from '../../core/ledger/chain.ts'
import type { Tables } from '../schema.ts'
import { createTable, indexMigration, type SchemaMigration } from './building.ts'

const oldestRelease = '0.1.0'

/** The file is long because it lists every column. */
export const tables: Record<string, SchemaMigration> = {
  '0001-core': { up: createCore, oldestRelease },
  /** What `pubring audit` has done with each key, so that it resumes and reports a weakness once. */
  '0002-key-audit': {
    up: (db) =>
      createTable(db, 'key_audit', {
        project_id: 'key text',
        key_id: 'key text',
        passed_rules: 'nullable text',
        passed_time: 'nullable text',
        weaknesses: 'text',
      }),
    oldestRelease,
  },
  /** Counting the keys reads only this index, which is a hundredth of the size of the rows. */
  '0003-key-census': indexMigration('jwt_key_census', (index) =>
    index.on('jwt_key').columns(['algorithm', 'enabled', 'expire_time']),
  ),
  /** Finds the events that say which keys have had a kid, without reading the ledgers. */
  '0004-kids': indexMigration('event_kid', (index) =>
    index.on('event').column('subject_id').where(sql.ref('type'), '=', 'key.created'),
  ),
  /** For each migration, the oldest release that works on the schema that it leaves. */
  '0005-releases': {
    up: (db) => createTable(db, 'migration_release', { name: 'key text', oldest_release: 'text' }),
    oldestRelease,
  },
  /**
   * Kids that callers chose for the JWKS. The table keeps those of deleted keys, with the key material
   * that each names for ever.
   */
  '0006-published-kids': {
    async up(db) {
      await addText(db, 'jwt_key', 'published_kid')
      const columns = { project_id: 'key text', kid: 'key text', thumbprint: 'text' } as const
      await createTable(db, 'published_kid', columns)
    },
    oldestRelease,
  },
  /** People and workloads as actors of events; those of earlier events are API keys and commands. */
  '0007-actors': { up: (db) => addText(db, 'event', 'actor'), oldestRelease },
  '0008-log': { up: createLog, oldestRelease },
  /** Finds the last event of a subject, with which its row is compared whenever it is used. */
  '0009-event-subjects': indexMigration('event_subject', (index) =>
    index.on('event').columns(['subject_id', 'project_id', 'revision']),
  ),
  /** Those that say which keys have had a kid are found by the index of all subjects too. */
  '0010-without-event-kids': {
    up: (db) => db.schema.dropIndex('event_kid').ifExists().execute(),
    oldestRelease,
  },
  '0011-people': { up: createPeople, oldestRelease },
  '0012-trust-policies': { up: createTrustPolicies, oldestRelease },
  /** Keys that another key of the project vouched for. */
  '0013-vouched-keys': {
    async up(db) {
      await addText(db, 'jwt_key', 'introduced_by')
      await addText(db, 'exchanged_key', 'successor')
    },
    oldestRelease,
  },
}

/** Adds a nullable column. */
async function addText(db: Kysely<Tables>, table: string, column: string): Promise<void> {
  await db.schema.alterTable(table).addColumn(column, 'text').execute()
}

async function createCore(db: Kysely<Tables>): Promise<void> {
  await createTable(db, 'project', {
    id: 'key text',
    name: 'unique text',
    create_time: 'text',
    update_time: 'text',
  })
  await createLedgers(db)
  await createKeys(db)
  await createTable(db, 'api_key', {
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
  })
  const fingerprint = { fingerprint: 'key text', create_time: 'text' } as const
  await createTable(db, 'blocked_fingerprint', fingerprint)
  await db
    .insertInto('ledger')
    .values({ project_id: systemLedgerId, revision: 0, hash: genesisHash })
    .execute()
}

async function createLedgers(db: Kysely<Tables>): Promise<void> {
  await createTable(db, 'ledger', { project_id: 'key text', revision: 'bigint', hash: 'text' })
  await createTable(db, 'event', {
    project_id: 'key text',
    revision: 'key bigint',
    type: 'text',
    time: 'text',
    actor_id: 'nullable text',
    actor_name: 'text',
    subject_type: 'text',
    subject_id: 'text',
    changes: 'nullable text',
    request_id: 'text',
    hash: 'text',
  })
}

async function createKeys(db: Kysely<Tables>): Promise<void> {
  const columns = {
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
  } as const
  await createTable(db, 'jwt_key', columns, { jwt_key_thumbprint: ['project_id', 'thumbprint'] })
  await db.schema.createIndex('jwt_key_material').on('jwt_key').column('material_sha256').execute()
}

/** The Merkle tree over the heads of all ledgers. */
async function createLog(db: Kysely<Tables>): Promise<void> {
  await createTable(db, 'log_epoch', {
    epoch: 'key integer',
    origin: 'unique text',
    verifier_key: 'text',
    size: 'bigint',
    append_time: 'nullable text',
    checkpoint_size: 'bigint',
    checkpoint: 'nullable text',
  })
  await createTable(db, 'log_entry', {
    epoch: 'key integer',
    position: 'key bigint',
    ledger_id: 'text',
    revision: 'bigint',
    content: 'text',
  })
  await db.schema
    .createIndex('log_entry_ledger')
    .on('log_entry')
    .columns(['ledger_id', 'epoch', 'position'])
    .execute()
  await createTable(db, 'log_tile', {
    epoch: 'key integer',
    level: 'key integer',
    position: 'key bigint',
    hashes: 'text',
  })
  await createTable(db, 'log_ledger', {
    ledger_id: 'key text',
    blinding: 'text',
    epoch: 'integer',
    hash: 'text',
  })
}

/** People who sign in, their sessions, and the rules that give them roles. */
async function createPeople(db: Kysely<Tables>): Promise<void> {
  const person = {
    id: 'key text',
    issuer: 'text',
    subject: 'text',
    name: 'nullable text',
    email: 'nullable text',
    first_sign_in_time: 'text',
    last_sign_in_time: 'text',
  } as const
  await createTable(db, 'person', person, { person_identity: ['subject', 'issuer'] })
  await createTable(db, 'sign_in_rule', {
    id: 'key text',
    name: 'text',
    issuer: 'text',
    conditions: 'text',
    role: 'text',
    project_id: 'nullable text',
    enabled: 'integer',
    create_time: 'text',
    update_time: 'text',
  })
  await createTable(db, 'session', {
    id: 'key text',
    digest: 'unique text',
    person_id: 'nullable text',
    person: 'nullable text',
    api_key_id: 'nullable text',
    sign_in_time: 'nullable text',
    create_time: 'text',
    expire_time: 'text',
    last_use_time: 'text',
  })
  await db.schema.createIndex('session_person').on('session').column('person_id').execute()
}

/** Trust policies, and the API keys exchanged under them. */
async function createTrustPolicies(db: Kysely<Tables>): Promise<void> {
  await createTable(db, 'trust_policy', {
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
  })
  await createExchangedKeys(db)
}

async function createExchangedKeys(db: Kysely<Tables>): Promise<void> {
  await createTable(db, 'exchanged_key', {
    id: 'key text',
    digest: 'unique text',
    prefix: 'text',
    policy_id: 'text',
    name: 'text',
    role: 'text',
    project_id: 'nullable text',
    issuer: 'text',
    subject: 'text',
    create_time: 'text',
    expire_time: 'text',
  })
  await db.schema
    .createIndex('exchanged_key_policy')
    .on('exchanged_key')
    .column('policy_id')
    .execute()
  await createTable(db, 'used_token', { digest: 'key text', expire_time: 'text' })
  for (const table of ['exchanged_key', 'used_token']) {
    await db.schema.createIndex(`${table}_expiry`).on(table).column('expire_time').execute()
  }
}
