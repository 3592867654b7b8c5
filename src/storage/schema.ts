import type { Kysely } from 'kysely'

/**
 * The tables, the same on every engine. Text compares byte by byte; times are ISO 8601 UTC with
 * milliseconds, so they sort as text; booleans are 0 or 1; JSON is text that no query looks into.
 * Every table but the last two leads with the id of its project.
 */
export interface Tables {
  project: {
    id: string
    name: string
    create_time: string
    update_time: string
  }
  /** The head of each ledger. Every change of a project locks its row first. */
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
  /** Audited keys: the rules that each has passed, and the weaknesses reported in its ledger. */
  key_audit: {
    project_id: string
    key_id: string
    /** Null until the key passes an audit. */
    passed_rules: string | null
    passed_time: string | null
    /** Intake codes, separated by spaces. */
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
   * RFC 7638 thumbprints and material hashes of public keys whose private halves were submitted. A
   * transaction also inserts the hashes and kids of new keys (`kid KID`) as locks, and deletes them.
   */
  blocked_fingerprint: {
    fingerprint: string
    create_time: string
  }
}

export type Db = Kysely<Tables>

export type TableName = keyof Tables

/** All columns: the compiler reports a missing one. `true` marks the primary key, in its order. */
const columns: { [Name in TableName]: Record<keyof Tables[Name], boolean> } = {
  project: { id: true, name: false, create_time: false, update_time: false },
  ledger: { project_id: true, revision: false, hash: false },
  event: {
    project_id: true,
    revision: true,
    type: false,
    time: false,
    actor_id: false,
    actor_name: false,
    subject_type: false,
    subject_id: false,
    changes: false,
    request_id: false,
    hash: false,
  },
  jwt_key: {
    project_id: true,
    id: true,
    label: false,
    algorithm: false,
    public_key_pem: false,
    enabled: false,
    expire_time: false,
    create_time: false,
    update_time: false,
    publish_time: false,
    jws_algorithm: false,
    jwk: false,
    bits: false,
    thumbprint: false,
    spki_sha256: false,
    material_sha256: false,
    normalised: false,
  },
  key_audit: {
    project_id: true,
    key_id: true,
    passed_rules: false,
    passed_time: false,
    weaknesses: false,
  },
  api_key: {
    id: true,
    name: false,
    role: false,
    project_id: false,
    prefix: false,
    digest: false,
    enabled: false,
    create_time: false,
    expire_time: false,
    last_use_time: false,
  },
  blocked_fingerprint: { fingerprint: true, create_time: false },
}

export const tableNames = Object.keys(columns) as TableName[]

export function columnsOf<Name extends TableName>(table: Name): (keyof Tables[Name] & string)[] {
  return Object.keys(columns[table]) as (keyof Tables[Name] & string)[]
}

export function primaryKeyOf(table: TableName): string[] {
  return Object.entries(columns[table]).flatMap(([name, isKey]) => (isKey ? [name] : []))
}
