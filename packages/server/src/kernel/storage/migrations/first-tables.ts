import type { ColumnKind } from '../columns.ts'

/**
 * The tables of the first release. Times are ISO 8601 UTC with milliseconds, so they sort as text. Every
 * table up to `key_audit` leads with the id of its project. The file is long because it lists every
 * column.
 */
export const firstTables = {
  project: { id: 'key text', name: 'unique text', create_time: 'text', update_time: 'text' },
  /** The head of each ledger. Every change of a project locks its row first. */
  ledger: { project_id: 'key text', revision: 'bigint', hash: 'text' },
  event: {
    project_id: 'key text',
    revision: 'key bigint',
    type: 'text',
    time: 'text',
    /** The id of the API key, or of the person's session. */
    actor_id: 'nullable text',
    actor_name: 'text',
    /** The person or workload that acted. */
    actor: 'nullable json',
    /** The subject of the person, by which their events are found. */
    person: 'nullable text',
    subject_type: 'text',
    subject_id: 'text',
    changes: 'nullable json',
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
    /** The kid in the JWKS, if it is not the id. */
    published_kid: 'nullable text',
    /** The id of the key that vouched for it. */
    introduced_by: 'nullable text',
    /** When the key was last activated, if a new `expire_time` has made `publish_time` later. */
    activate_time: 'nullable text',
  },
  /** All `publishedKid`s that a project has had, and the key that each names. */
  published_kid: { project_id: 'key text', kid: 'key text', thumbprint: 'text' },
  /** Replacements of keys by others. */
  rotation: {
    project_id: 'key text',
    id: 'key text',
    from_kid: 'text',
    to_kid: 'text',
    create_time: 'text',
    update_time: 'text',
    /** Seconds. */
    token_lifetime: 'integer',
    /** Null while it is under way. */
    outcome: 'nullable text',
    end_time: 'nullable text',
  },
  /** Audited keys: the rules that each has passed, and the weaknesses reported in its ledger. */
  key_audit: {
    project_id: 'key text',
    key_id: 'key text',
    /** Null until the key passes an audit. */
    passed_rules: 'nullable text',
    passed_time: 'nullable text',
    /** Intake codes, separated by spaces. */
    weaknesses: 'text',
  },
  /**
   * API keys that were exchanged for a token have the rule, issuer and subject; those of a session on the
   * command line have the session.
   */
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
    /** RFC 7638 thumbprint of the one key that it may register. */
    successor: 'nullable text',
    session_id: 'nullable text',
  },
  /** People who have signed in. A row grants nothing, and is deleted to erase their name and email. */
  person: {
    id: 'key text',
    issuer: 'text',
    subject: 'text',
    name: 'nullable text',
    email: 'nullable text',
    first_sign_in_time: 'text',
    last_sign_in_time: 'text',
  },
  /** Sessions of people, and of API keys that signed in. */
  session: {
    id: 'key text',
    /** SHA-256 of the secret in the cookie. */
    digest: 'unique text',
    person_id: 'nullable text',
    /** Issuer, subject, claims, and the session at the provider. */
    person: 'nullable json',
    api_key_id: 'nullable text',
    sign_in_time: 'nullable text',
    create_time: 'text',
    expire_time: 'text',
    last_use_time: 'text',
  },
  /** Rules that give roles; without a project: for all projects. */
  access_rule: {
    id: 'key text',
    /** Whom the rule is for: people or workloads. */
    for: 'text',
    name: 'text',
    issuer: 'text',
    conditions: 'json',
    role: 'text',
    project_id: 'nullable text',
    enabled: 'boolean',
    create_time: 'text',
    update_time: 'text',
    /** The following columns are null in rules for people. */
    key_source: 'nullable text',
    jwks_uri: 'nullable text',
    jwks: 'nullable json',
    audience: 'nullable text',
    single_use: 'nullable boolean',
    max_lifetime: 'nullable integer',
    last_exchange_time: 'nullable text',
  },
  /**
   * Credentials that are accepted once, until they expire: tokens, by SHA-256 of issuer and `jti`; and
   * API keys that have registered the one key that they may, by their digest.
   */
  used_token: { digest: 'key text', expire_time: 'text' },
  /**
   * RFC 7638 thumbprints and material hashes of public keys whose private keys were submitted. A
   * transaction also inserts the hashes and kids of new keys (`kid KID`) as locks, and deletes them.
   */
  blocked_fingerprint: { fingerprint: 'key text', create_time: 'text' },
  /** The trees of the log. The one that has not ended grows; of the others, only this row is left. */
  log_tree: {
    /** The end of its origin. */
    id: 'key text',
    origin: 'text',
    verifier_key: 'text',
    /** Number of entries; those beyond the checkpoint are not published yet. */
    size: 'bigint',
    append_time: 'nullable text',
    checkpoint_size: 'bigint',
    /** Null until the first one. */
    checkpoint: 'nullable text',
    /** When the next tree, with this origin, was started. */
    end_time: 'nullable text',
    next_origin: 'nullable text',
  },
  log_entry: {
    /** The place in the tree, from 0. */
    position: 'key bigint',
    ledger_id: 'text',
    revision: 'bigint',
    content: 'text',
  },
  /** Up to 256 hashes (C2SP tlog-tiles), in base64. A partial tile is the beginning of a row. */
  log_tile: { level: 'key integer', position: 'key bigint', hashes: 'text' },
  /** The last logged head of each ledger, and the random value that blinds its id, in base64. */
  log_ledger: { ledger_id: 'key text', blinding: 'text', hash: 'text' },
} as const satisfies Record<string, Record<string, ColumnKind>>
