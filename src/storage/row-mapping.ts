import type { Insertable, Selectable } from 'kysely'
import type { Algorithm, JwsAlgorithm } from '../contract/algorithms.ts'
import type { Role } from '../contract/roles.ts'
import type { Conditions } from '../contract/trust/conditions.ts'
import type { GrantableRole, KeySource } from '../contract/trust/policies.ts'
import { damagedJwk, parseStored } from '../core/damaged-keys.ts'
import type { Actor, EventChanges, EventType, LedgerEvent } from '../core/ledger/chain.ts'
import type {
  ApiKeyRecord,
  ExchangedKeyRecord,
  KeyRecord,
  PersonRecord,
  ProjectRecord,
  SessionPerson,
  SessionRecord,
  SignInRuleRecord,
  TrustPolicyRecord,
} from '../core/records.ts'
import type { Repair } from '../intake/types.ts'
import { columnsOf, type Tables } from './schema.ts'

/** Qualified, for queries that join tables. */
export const keyColumns = columnsOf('jwt_key').map((name) => `jwt_key.${name}` as const)
export const apiKeyColumns = columnsOf('api_key')

type KeyColumn = keyof Tables['jwt_key']

/** Whether a left join has found a key. A project without keys yields one row of nulls. */
export function hasKey<Row extends { id: string | null }>(
  row: Row,
): row is Row & Pick<Tables['jwt_key'], Extract<keyof Row, KeyColumn>> {
  return row.id !== null
}

/**
 * Union types in text columns are not validated: only this code writes them. A damaged row must not
 * make the other keys of its project unreadable.
 */
export function keyFromRow(row: Selectable<Tables['jwt_key']>): KeyRecord {
  return {
    id: row.id,
    ...(row.published_kid === null ? {} : { publishedKid: row.published_kid }),
    projectId: row.project_id,
    label: row.label,
    algorithm: row.algorithm as Algorithm,
    publicKeyPem: row.public_key_pem,
    enabled: row.enabled === 1,
    ...(row.expire_time === null ? {} : { expireTime: row.expire_time }),
    createTime: row.create_time,
    updateTime: row.update_time,
    publishTime: row.publish_time,
    jwsAlgorithm: row.jws_algorithm as JwsAlgorithm,
    jwk: parseStored(row.jwk, damagedJwk),
    ...(row.bits === null ? {} : { bits: row.bits }),
    thumbprint: row.thumbprint,
    spkiSha256: row.spki_sha256,
    materialSha256: row.material_sha256,
    normalised: parseStored<Repair[]>(row.normalised, []),
    ...(row.introduced_by === null ? {} : { introducedBy: row.introduced_by }),
  }
}

export function keyToRow(key: KeyRecord): Insertable<Tables['jwt_key']> {
  return {
    id: key.id,
    project_id: key.projectId,
    label: key.label,
    algorithm: key.algorithm,
    public_key_pem: key.publicKeyPem,
    enabled: key.enabled ? 1 : 0,
    expire_time: key.expireTime ?? null,
    create_time: key.createTime,
    update_time: key.updateTime,
    publish_time: key.publishTime,
    jws_algorithm: key.jwsAlgorithm,
    jwk: JSON.stringify(key.jwk),
    bits: key.bits ?? null,
    thumbprint: key.thumbprint,
    spki_sha256: key.spkiSha256,
    material_sha256: key.materialSha256,
    normalised: JSON.stringify(key.normalised),
    published_kid: key.publishedKid ?? null,
    introduced_by: key.introducedBy ?? null,
  }
}

export function apiKeyFromRow(row: Selectable<Tables['api_key']>): ApiKeyRecord {
  return {
    id: row.id,
    name: row.name,
    role: row.role as Role,
    ...(row.project_id === null ? {} : { projectId: row.project_id }),
    prefix: row.prefix,
    digest: row.digest,
    enabled: row.enabled === 1,
    createTime: row.create_time,
    ...(row.expire_time === null ? {} : { expireTime: row.expire_time }),
    ...(row.last_use_time === null ? {} : { lastUseTime: row.last_use_time }),
  }
}

export function apiKeyToRow(apiKey: ApiKeyRecord): Insertable<Tables['api_key']> {
  return {
    id: apiKey.id,
    name: apiKey.name,
    role: apiKey.role,
    project_id: apiKey.projectId ?? null,
    prefix: apiKey.prefix,
    digest: apiKey.digest,
    enabled: apiKey.enabled ? 1 : 0,
    create_time: apiKey.createTime,
    expire_time: apiKey.expireTime ?? null,
    last_use_time: apiKey.lastUseTime ?? null,
  }
}

export function trustPolicyFromRow(row: Selectable<Tables['trust_policy']>): TrustPolicyRecord {
  return {
    id: row.id,
    name: row.name,
    issuer: row.issuer,
    keySource: row.key_source as KeySource,
    ...(row.jwks_uri === null ? {} : { jwksUri: row.jwks_uri }),
    ...(row.jwks === null ? {} : { jwks: parseStored(row.jwks, { keys: [] }) }),
    audience: row.audience,
    conditions: parseStored<Conditions>(row.conditions, {}),
    role: row.role as GrantableRole,
    ...(row.project_id === null ? {} : { projectId: row.project_id }),
    singleUse: row.single_use === 1,
    maxLifetime: row.max_lifetime,
    enabled: row.enabled === 1,
    createTime: row.create_time,
    updateTime: row.update_time,
    ...(row.last_exchange_time === null ? {} : { lastExchangeTime: row.last_exchange_time }),
  }
}

export function trustPolicyToRow(policy: TrustPolicyRecord): Insertable<Tables['trust_policy']> {
  return {
    id: policy.id,
    name: policy.name,
    issuer: policy.issuer,
    key_source: policy.keySource,
    jwks_uri: policy.jwksUri ?? null,
    jwks: policy.jwks === undefined ? null : JSON.stringify(policy.jwks),
    audience: policy.audience,
    conditions: JSON.stringify(policy.conditions),
    role: policy.role,
    project_id: policy.projectId ?? null,
    single_use: policy.singleUse ? 1 : 0,
    max_lifetime: policy.maxLifetime,
    enabled: policy.enabled ? 1 : 0,
    create_time: policy.createTime,
    update_time: policy.updateTime,
    last_exchange_time: policy.lastExchangeTime ?? null,
  }
}

export function exchangedKeyFromRow(row: Selectable<Tables['exchanged_key']>): ExchangedKeyRecord {
  return {
    id: row.id,
    digest: row.digest,
    prefix: row.prefix,
    policyId: row.policy_id,
    name: row.name,
    role: row.role as GrantableRole,
    ...(row.project_id === null ? {} : { projectId: row.project_id }),
    issuer: row.issuer,
    subject: row.subject,
    createTime: row.create_time,
    expireTime: row.expire_time,
    ...(row.successor === null ? {} : { successor: row.successor }),
  }
}

export function exchangedKeyToRow(key: ExchangedKeyRecord): Insertable<Tables['exchanged_key']> {
  return {
    id: key.id,
    digest: key.digest,
    prefix: key.prefix,
    policy_id: key.policyId,
    name: key.name,
    role: key.role,
    project_id: key.projectId ?? null,
    issuer: key.issuer,
    subject: key.subject,
    create_time: key.createTime,
    expire_time: key.expireTime,
    successor: key.successor ?? null,
  }
}

export function eventToRow(event: LedgerEvent): Insertable<Tables['event']> {
  const { name, apiKeyId, user, workload } = event.actor
  return {
    project_id: event.ledgerId,
    revision: event.revision,
    type: event.type,
    time: event.time,
    actor_id: apiKeyId ?? user?.sessionId ?? null,
    actor_name: name,
    actor: user === undefined && workload === undefined ? null : JSON.stringify({ user, workload }),
    subject_type: event.subject.type,
    subject_id: event.subject.id,
    changes: event.changes === undefined ? null : JSON.stringify(event.changes),
    request_id: event.requestId,
    hash: event.hash,
  }
}

export function eventFromRow(row: Selectable<Tables['event']>): LedgerEvent {
  return {
    ledgerId: row.project_id,
    revision: row.revision,
    type: row.type as EventType,
    time: row.time,
    actor: actorFromRow(row),
    subject: { type: row.subject_type as LedgerEvent['subject']['type'], id: row.subject_id },
    ...(row.changes === null ? {} : { changes: JSON.parse(row.changes) as EventChanges }),
    requestId: row.request_id,
    hash: row.hash,
  }
}

function actorFromRow(row: Selectable<Tables['event']>): Actor {
  const stored: Pick<Actor, 'user' | 'workload'> = parseStored(row.actor ?? '{}', {})
  const { user, workload } = stored
  const { actor_id: id, actor_name: name } = row
  // Of a person, the hash covers nothing else.
  if (user !== undefined) return { name, user }
  return { name, ...(id === null ? {} : { apiKeyId: id }), ...(workload && { workload }) }
}

export function personFromRow(row: Selectable<Tables['person']>): PersonRecord {
  return {
    id: row.id,
    issuer: row.issuer,
    subject: row.subject,
    ...(row.name === null ? {} : { name: row.name }),
    ...(row.email === null ? {} : { email: row.email }),
    firstSignInTime: row.first_sign_in_time,
    lastSignInTime: row.last_sign_in_time,
  }
}

export function personToRow(person: PersonRecord): Insertable<Tables['person']> {
  return {
    id: person.id,
    issuer: person.issuer,
    subject: person.subject,
    name: person.name ?? null,
    email: person.email ?? null,
    first_sign_in_time: person.firstSignInTime,
    last_sign_in_time: person.lastSignInTime,
  }
}

/** Instead of one that was altered, which also contradicts the ledger. */
const damagedPerson: SessionPerson = { id: '', issuer: '', subject: '', claims: {} }

export function sessionFromRow(row: Selectable<Tables['session']>): SessionRecord {
  return {
    id: row.id,
    digest: row.digest,
    ...(row.person === null ? {} : { person: personOf(row.person, row.person_id) }),
    ...(row.api_key_id === null ? {} : { apiKeyId: row.api_key_id }),
    ...(row.sign_in_time === null ? {} : { signInTime: row.sign_in_time }),
    createTime: row.create_time,
    expireTime: row.expire_time,
    lastUseTime: row.last_use_time,
  }
}

function personOf(text: string, id: string | null): SessionPerson {
  const person = parseStored(text, damagedPerson)
  return person.id === id ? person : damagedPerson
}

export function sessionToRow(session: SessionRecord): Insertable<Tables['session']> {
  return {
    id: session.id,
    digest: session.digest,
    person_id: session.person?.id ?? null,
    person: session.person === undefined ? null : JSON.stringify(session.person),
    api_key_id: session.apiKeyId ?? null,
    sign_in_time: session.signInTime ?? null,
    create_time: session.createTime,
    expire_time: session.expireTime,
    last_use_time: session.lastUseTime,
  }
}

export function signInRuleFromRow(row: Selectable<Tables['sign_in_rule']>): SignInRuleRecord {
  return {
    id: row.id,
    name: row.name,
    issuer: row.issuer,
    conditions: parseStored<Conditions>(row.conditions, {}),
    role: row.role as Role,
    ...(row.project_id === null ? {} : { projectId: row.project_id }),
    enabled: row.enabled === 1,
    createTime: row.create_time,
    updateTime: row.update_time,
  }
}

export function signInRuleToRow(rule: SignInRuleRecord): Insertable<Tables['sign_in_rule']> {
  return {
    id: rule.id,
    name: rule.name,
    issuer: rule.issuer,
    conditions: JSON.stringify(rule.conditions),
    role: rule.role,
    project_id: rule.projectId ?? null,
    enabled: rule.enabled ? 1 : 0,
    create_time: rule.createTime,
    update_time: rule.updateTime,
  }
}

export function projectFromRow(
  row: Selectable<Tables['project']> & { revision: number },
): ProjectRecord {
  return {
    id: row.id,
    name: row.name,
    revision: row.revision,
    createTime: row.create_time,
    updateTime: row.update_time,
  }
}
