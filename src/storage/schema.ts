/**
 * The tables as Kysely sees them, the same on every engine. Text is compared byte by byte, times
 * are ISO 8601 UTC with milliseconds (they sort as text), booleans are 0 or 1, JSON is text that
 * no query looks into. Every table but the last two leads with `project_id`.
 */
export interface Tables {
  project: {
    id: string
    name: string
    create_time: string
    update_time: string
  }
  /** The head of each ledger; its row is the lock under which everything of a project changes. */
  ledger: {
    project_id: string
    revision: number
    hash: string
  }
  event: {
    project_id: string
    revision: number
    type: string
    time: string
    actor_id: string | null
    actor_name: string
    subject_type: string
    subject_id: string
    changes: string | null
    request_id: string
    hash: string
  }
  jwt_key: {
    project_id: string
    id: string
    label: string
    algorithm: string
    public_key_pem: string
    enabled: number
    expire_time: string | null
    create_time: string
    update_time: string
    publish_time: string
    jws_algorithm: string
    jwk: string
    bits: number | null
    thumbprint: string
    spki_sha256: string
    material_sha256: string
    normalised: string
  }
  /** Of the keys that an audit has looked at: the rules that each passed, and what was told of it. */
  key_audit: {
    project_id: string
    key_id: string
    /** Absent for a key that has passed none. */
    passed_rules: string | null
    passed_time: string | null
    /** The codes of the weaknesses that stand in the ledger, with blanks between them. */
    weaknesses: string
  }
  api_key: {
    id: string
    name: string
    role: string
    project_id: string | null
    prefix: string
    digest: string
    enabled: number
    create_time: string
    expire_time: string | null
    last_use_time: string | null
  }
  /**
   * RFC 7638 thumbprints and material hashes of public keys whose private halves were submitted. Within
   * a transaction also what nobody else may take meanwhile: the same of new keys, and `kid KID`.
   */
  blocked_fingerprint: {
    fingerprint: string
    create_time: string
  }
}

export const tableNames = [
  'project',
  'ledger',
  'event',
  'jwt_key',
  'key_audit',
  'api_key',
  'blocked_fingerprint',
] as const satisfies readonly (keyof Tables)[]
