import { hash } from 'node:crypto'
import { isIntact } from '../../features/keys/damaged.ts'
import type {
  AccessRuleRecord,
  ApiKeyRecord,
  KeyRecord,
  ProjectRecord,
  RotationRecord,
  SessionRecord,
  WorkloadRule,
} from '../records.ts'
import {
  type EventChanges,
  type EventContent,
  type EventType,
  eventChanges,
  type Members,
  stateDigest,
} from './chain.ts'

/** The rows that a ledger accounts for, by kind of subject. */
export interface SubjectRows {
  project: Pick<ProjectRecord, 'id' | 'name' | 'createTime' | 'updateTime'>
  key: KeyRecord
  rotation: RotationRecord
  api_key: ApiKeyRecord
  session: SessionRecord
  access_rule: AccessRuleRecord
  published_kid: { kid: string; thumbprint: string }
  blocked_fingerprint: { fingerprint: string }
}

export type SubjectName = keyof SubjectRows

type KindOf<Type> = Type extends `${infer Name}.recorded` ? Name : never

/** Kinds with events of their own, whose types begin with the name. */
export type EventfulName = KindOf<EventType>

/** What an event says about one row. */
interface Effect {
  id: string
  action: 'set' | 'change' | 'delete'
  changes: EventChanges
}

/** How the events of one kind of subject, and its rows, are read as the same members. */
interface SubjectKind<Row> {
  /** The ledgers whose replay accounts for it. */
  ledger: 'system' | 'project' | 'both'
  effects(event: EventContent): Effect[]
  id(row: Row): string
  /** The members that events record with their values. */
  members(row: Row): Members
  /** Everything that changes only with an event, for its digest; absent if events have none. */
  stored?(row: Row): object
  /** Whether the row contradicts itself. */
  isDamaged?(row: Row): boolean
  /** Rows without an event are allowed: they only forbid something. */
  mayBeUnrecorded?: true
}

/**
 * One entry for each kind. A kind that grants rights must be here, or an inserted row grants them.
 * The file is long because everything about a kind is in one place.
 */
export const subjectKinds: { [Name in SubjectName]: SubjectKind<SubjectRows[Name]> } = {
  project: {
    ledger: 'project',
    effects: effectsOf('project'),
    id: ({ id }) => id,
    members: ({ name }) => ({ name }),
    stored: ({ id, name, createTime, updateTime }) => ({ id, name, createTime, updateTime }),
  },
  key: {
    ledger: 'project',
    effects: effectsOf('key'),
    id: ({ id }) => id,
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
    }),
    // Without what only describes.
    stored: ({ contradicted: _contradicted, activateTime: _activateTime, ...key }) => key,
    isDamaged: (key) => !isIntact(key),
  },
  rotation: {
    ledger: 'project',
    effects: effectsOf('rotation'),
    id: ({ id }) => id,
    members: (rotation) => ({
      from: rotation.fromKid,
      to: rotation.toKid,
      tokenLifetime: rotation.tokenLifetime,
      outcome: rotation.outcome,
    }),
    stored: ({ contradicted: _contradicted, ...rotation }) => rotation,
  },
  api_key: {
    // A busy project has millions of exchanges, and rows that live for minutes. So its replay reads only
    // the rows of exchanged API keys that contradict the event of their exchange.
    ledger: 'both',
    effects: effectsOf('api_key'),
    id: ({ id }) => id,
    members: ({ name, role, projectId, enabled, expireTime, exchanged }) => ({
      name,
      role,
      projectId,
      active: enabled,
      expireTime,
      successor: exchanged?.successor,
    }),
    // With the digest of the secret: a row with another secret is not the API key that was created.
    stored: ({ contradicted: _contradicted, lastUseTime: _lastUseTime, ...apiKey }) => apiKey,
  },
  session: {
    ledger: 'system',
    effects: effectsOf('session'),
    id: ({ id }) => id,
    members: ({ person, apiKeyId, signInTime, expireTime }) => ({
      personId: person?.id,
      apiKeyId,
      signInTime,
      expireTime,
    }),
    // With the claims and the digest of the secret, which keeps the claims from being guessed.
    stored: ({ contradicted: _contradicted, lastUseTime: _lastUseTime, ...session }) => session,
  },
  access_rule: {
    ledger: 'system',
    effects: effectsOf('access_rule'),
    id: ({ id }) => id,
    members: (rule) => ({
      for: rule.for,
      name: rule.name,
      issuer: rule.issuer,
      conditions: JSON.stringify(rule.conditions),
      role: rule.role,
      projectId: rule.projectId,
      active: rule.enabled,
      ...(rule.for === 'workloads' && workloadMembers(rule)),
    }),
    stored: ({ contradicted: _contradicted, ...rule }) => ({
      ...rule,
      lastExchangeTime: undefined,
    }),
  },
  published_kid: {
    ledger: 'project',
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
    id: ({ kid }) => kid,
    members: ({ thumbprint }) => ({ thumbprint }),
    mayBeUnrecorded: true,
  },
  blocked_fingerprint: {
    ledger: 'both',
    effects: ({ type, changes: { thumbprint, materialSha256 } = {} }) =>
      type !== 'private_key.refused'
        ? []
        : [thumbprint?.to, materialSha256?.to]
            .filter((value) => value !== undefined)
            .map((value) => ({ id: String(value), action: 'set', changes: {} })),
    id: ({ fingerprint }) => fingerprint,
    members: () => ({}),
    mayBeUnrecorded: true,
  },
}

export const subjectNames = Object.keys(subjectKinds) as SubjectName[]

/** The members of a rule for workloads alone. */
function workloadMembers({ jwks, ...rule }: WorkloadRule): Members {
  return {
    keySource: rule.keySource,
    jwksUri: rule.jwksUri,
    // The ledger holds no key material.
    jwksSha256: jwks && hash('sha256', JSON.stringify(jwks)),
    audience: rule.audience,
    singleUse: rule.singleUse,
    maxLifetime: rule.maxLifetime,
  }
}

/** The effects of events about the subject itself, whose types begin with its name. */
function effectsOf(name: EventfulName): SubjectKind<never>['effects'] {
  const actions: Record<string, Effect['action']> = {
    [`${name}.created`]: 'set',
    [`${name}.recorded`]: 'set',
    [`${name}.started`]: 'set',
    [`${name}.deleted`]: 'delete',
    [`${name}.ended`]: 'delete',
  }
  return ({ type, subject, changes = {} }) =>
    type.startsWith(`${name}.`)
      ? [{ id: subject.id, action: actions[type] ?? 'change', changes }]
      : []
}

/** The members of a subject after an event, given those before it. */
export function applyEffect(before: Members, { action, changes }: Effect): Members {
  const after: Members = action === 'set' ? {} : { ...before }
  for (const [name, { to }] of Object.entries(changes)) after[name] = to
  return { ...after, state: changes.state?.to }
}

/** All that a row says about its subject. */
export function rowMembers<Name extends SubjectName>(name: Name, row: SubjectRows[Name]): Members {
  const { members, stored }: SubjectKind<SubjectRows[Name]> = subjectKinds[name]
  return { ...members(row), state: stored && stateDigest(stored(row)) }
}

/**
 * The changes of an event: members with old and new value, and as `state` the digest of the whole row.
 * Empty if nothing has changed.
 */
export function recordedChanges<Name extends SubjectName>(
  name: Name,
  before: SubjectRows[Name] | undefined,
  after: SubjectRows[Name],
): EventChanges {
  const { members }: SubjectKind<SubjectRows[Name]> = subjectKinds[name]
  const changes = eventChanges(before && members(before), members(after))
  if (before !== undefined && Object.keys(changes).length === 0) return {}
  return { ...changes, ...stateChange(name, after) }
}

/** The digest of the row, for an event that changes nothing of it. */
export function stateChange<Name extends SubjectName>(
  name: Name,
  row: SubjectRows[Name],
): EventChanges {
  const { state } = rowMembers(name, row)
  return state === undefined ? {} : { state: { to: state } }
}

/** The type and changes of a stored event. */
export interface LastEvent {
  type: string
  changes: EventChanges
}

/**
 * Whether a row contradicts itself or the last event of its subject. Cheap, and so made whenever a row
 * is used; a replay compares it with all events.
 */
export function contradictsEvent<Name extends SubjectName>(
  name: Name,
  row: SubjectRows[Name],
  last: LastEvent | undefined,
): boolean {
  const { isDamaged }: SubjectKind<SubjectRows[Name]> = subjectKinds[name]
  if (last === undefined || /[._](deleted|ended)$/.test(last.type) || isDamaged?.(row)) return true
  const members = rowMembers(name, row)
  return Object.entries({ state: {}, ...last.changes }).some(
    ([member, { to }]: [string, EventChanges[string]]) =>
      member in members && members[member] !== to,
  )
}
