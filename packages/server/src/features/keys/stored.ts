import { hash } from 'node:crypto'
import type { PublicJwk, Repair } from '@pubring/intake'
import { type JwsAlgorithm, jwsAlgorithmOf } from '@pubring/intake/algorithms'
import { writePem } from '@pubring/intake/encoding'
import { type AnySubject, projectLedger, subject } from '../../kernel/ledger/subject.ts'
import type { Stored } from '../../kernel/records.ts'
import { columnsOf, type RowOf, rowMapping, table } from '../../kernel/storage/schema.ts'
import { inChunks } from '../../kernel/storage/statements.ts'
import type { EndReason, JwtKey } from './contract.ts'

/** A stored JWT key. `isActive` decides whether it is active. */
export type KeyRecord = Stored<JwtKey> & {
  /** Its kid in the JWKS, if that is not the id. */
  publishedKid?: string
  /** Time of the last change to its publication: creation, `active` or `expireTime`. */
  publishTime: string
  jwsAlgorithm: JwsAlgorithm
  jwk: PublicJwk
  bits?: number
  thumbprint: string
  spkiSha256: string
  materialSha256: string
  normalised: Repair[]
  /** Id of the key that vouched for it, or `introducedByLink`. */
  introducedBy?: string
  /**
   * Why it has ended or has an end; absent if unspecified. `compromised`, which stays for good: others
   * know its private key.
   */
  endReason?: Exclude<EndReason, 'unspecified'>
  /** When it last ceased to be active, unless that was its present `expireTime`. */
  endTime?: string
  /** Time of its last activation, if `publishTime` is later: that of a new `expireTime`. */
  activateTime?: string
}

/** All keys of a project, its name and its revision, from one snapshot. */
export interface KeySet {
  /** The project's name. */
  name: string
  revision: number
  /** Hash of the last event of its ledger. */
  head: string
  /** Oldest first: createTime, then id. */
  keys: KeyRecord[]
}

/** Estimated memory of a key set: per key the PEM, a JWK of its size, and the rest. */
export function keySetBytes({ keys }: KeySet): number {
  return keys.reduce((sum, key) => sum + 1_500 + 2 * key.publicKeyPem.length, 500)
}

export interface RsaKey {
  kid: string
  thumbprint: string
  /** The modulus in base64url. */
  n: string
}

/** The members of a key that warnings about its project depend on. */
export type KeySummary = Pick<
  KeyRecord,
  | 'id'
  | 'projectId'
  | 'label'
  | 'algorithm'
  | 'enabled'
  | 'expireTime'
  | 'introducedBy'
  | 'endReason'
  | 'endTime'
>

export const keyTable = table('jwt_key', {
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
  /** The id of the key that vouched for it, or that of a registration link after `link:`. */
  introduced_by: 'nullable text',
  /** When the key was last activated, if a new `expire_time` has made `publish_time` later. */
  activate_time: 'nullable text',
  /** `compromised`, `superseded`, or null. */
  end_reason: 'nullable text',
  /** When the key last ceased to be active, unless that was its present `expire_time`. */
  end_time: 'nullable text',
})

/** All `publishedKid`s that a project has had, and the key that each names. */
export const publishedKidTable = table('published_kid', {
  project_id: 'key text',
  kid: 'key text',
  thumbprint: 'text',
})

declare module '../../kernel/storage/schema.ts' {
  interface Tables {
    blocked_fingerprint: RowOf<typeof blockedFingerprintTable>
    jwt_key: RowOf<typeof keyTable>
    published_kid: RowOf<typeof publishedKidTable>
  }
}

/** Qualified, for queries that join tables. */
export const keyColumns = columnsOf(keyTable).map((name) => `jwt_key.${name}` as const)

type KeyRow = RowOf<typeof keyTable>

/** Whether a left join has found a key. A project without keys yields one row of nulls. */
export function hasKey<Row extends { id: string | null }>(
  row: Row,
): row is Row & Pick<KeyRow, Extract<keyof Row, keyof KeyRow>> {
  return row.id !== null
}

/** Stands for a JWK that is no longer JSON: no thumbprint matches it. */
export const damagedJwk: PublicJwk = { kty: 'OKP', crv: 'Ed25519', x: '' }

/** Stands for repairs that are no longer JSON: no intake makes it. */
const unknownRepair = 'unknown' as Repair

export const {
  fromRow: keyFromRow,
  partFromRow: keyPartFromRow,
  toRow: keyToRow,
} = rowMapping<typeof keyTable, KeyRecord>(keyTable, {
  jwk: damagedJwk,
  normalised: [unknownRepair],
})

export const keys = subject({
  name: 'key',
  table: keyTable,
  ledger: projectLedger('jwt_key.project_id', ({ projectId }: KeyRecord) => projectId),
  events: ['created', 'updated', 'deleted', 'weakness_found'],
  fromRow: keyFromRow,
  members: (key) => ({
    label: key.label,
    publishedKid: key.publishedKid,
    algorithm: key.algorithm,
    active: key.enabled,
    expireTime: key.expireTime,
    thumbprint: key.thumbprint,
    spkiSha256: key.spkiSha256,
    normalised: key.normalised.length === 0 ? undefined : key.normalised.join(' '),
    introducedBy: key.introducedBy,
    reason: key.endReason,
  }),
  // Compares only the columns of the key material, which determine each other.
  damageOf: (key) =>
    isIntact(key)
      ? undefined
      : { member: 'publicKeyPem', detail: 'the columns of the key contradict each other' },
})

/**
 * Whether the stored key still is what was registered: a disk, a copy or a person may have changed
 * its row. RFC 7638 thumbprints cover exactly the members that a stored JWK has.
 */
function isIntact(key: KeyRecord): boolean {
  const members = JSON.stringify(key.jwk, Object.keys(key.jwk).sort())
  const [, body = ''] = /^-----BEGIN PUBLIC KEY-----\n([^-]*)/.exec(key.publicKeyPem) ?? []
  const spki = Buffer.from(body, 'base64')
  return (
    hash('sha256', members, 'base64url') === key.thumbprint &&
    hash('sha256', spki, 'hex') === key.spkiSha256 &&
    writePem(spki) === key.publicKeyPem &&
    jwsAlgorithmOf(key.algorithm) === key.jwsAlgorithm
  )
}

export const publishedKids: AnySubject = {
  name: 'published_kid',
  table: publishedKidTable,
  scope: 'project',
  eventTypes: [],
  mayBeUnrecorded: true,
  effects: ({ type, changes: { publishedKid, thumbprint } = {} }) =>
    !/^key\.(created|recorded)$/.test(type) || publishedKid?.to === undefined
      ? []
      : [
          {
            id: String(publishedKid.to),
            action: 'set',
            changes: { thumbprint: { ...thumbprint } },
          },
        ],
  async rowsOf(db, ledgerId, idsOf) {
    const rows = await inChunks(idsOf(), (kids) =>
      db
        .selectFrom('published_kid')
        .select(['kid', 'thumbprint'])
        .where('project_id', '=', ledgerId)
        .where('kid', 'in', kids)
        .execute(),
    )
    return rows.map(({ kid, thumbprint }) => ({ id: kid, members: { thumbprint } }))
  },
  accept: async () => [],
}

/**
 * RFC 7638 thumbprints and material hashes of public keys whose private keys were submitted, and, after
 * the id of their project, the thumbprints of deleted keys that had ended as compromised. A transaction
 * also inserts the hashes and kids of new keys (`kid KID`) as locks, and deletes them.
 */
export const blockedFingerprintTable = table(
  'blocked_fingerprint',
  { fingerprint: 'key text', create_time: 'text' },
  { create_time: 'it is only stored; the event has the time' },
)

/** Stands for a key that may not be registered again in this project alone. */
export function fingerprintIn(projectId: string, thumbprint: string): string {
  return `${projectId} ${thumbprint}`
}

export const blockedFingerprints: AnySubject = {
  name: 'blocked_fingerprint',
  table: blockedFingerprintTable,
  scope: 'both',
  eventTypes: ['private_key.refused'],
  mayBeUnrecorded: true,
  effects: ({ ledgerId, type, changes: { thumbprint, materialSha256, reason } = {} }) => {
    const isCompromised = type === 'key.deleted' && reason?.from === 'compromised'
    const values = isCompromised
      ? [fingerprintIn(ledgerId, String(thumbprint?.from))]
      : type === 'private_key.refused'
        ? [thumbprint?.to, materialSha256?.to]
        : []
    return values
      .filter((value) => value !== undefined)
      .map((value) => ({ id: String(value), action: 'set', changes: {} }))
  },
  async rowsOf(db, _ledgerId, idsOf) {
    const rows = await inChunks(idsOf(), (some) =>
      db
        .selectFrom('blocked_fingerprint')
        .select('fingerprint')
        .where('fingerprint', 'in', some)
        .execute(),
    )
    return rows.map(({ fingerprint }) => ({ id: fingerprint, members: {} }))
  },
  accept: async () => [],
}
