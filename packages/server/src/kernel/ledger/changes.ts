import type { ExposedKey } from '@pubring/intake'
import type { IntakeCode } from '@pubring/intake/codes'
import type { FieldError } from '../../errors.ts'
import type { ClaimValue } from '../../features/access-rules/condition-contract.ts'
import type { AccessRuleUpdate } from '../../features/access-rules/contract.ts'
import type { AccessRuleRecord, WorkloadRule } from '../../features/access-rules/stored.ts'
import type { ApiKeyUpdate } from '../../features/api-keys/contract.ts'
import type { ApiKeyRecord } from '../../features/api-keys/stored.ts'
import type { JwtKeyUpdate, KeyWarning } from '../../features/keys/contract.ts'
import type { KeyRecord } from '../../features/keys/stored.ts'
import type { LogTile, LogTree, NewLogEntry } from '../../features/log/records.ts'
import type { RotationUpdate } from '../../features/rotations/contract.ts'
import type { PersonRecord, SessionRecord } from '../../features/sign-in/stored.ts'
import type { Access, Credential } from '../access/grants.ts'
import type { ProjectRecord, RecordReference } from '../records.ts'
import type { Actor } from './chain.ts'

/** Who requested a change, when, and in which request; its ledger event repeats this. */
export interface Origin {
  actor: Actor
  requestId: string
  /** ISO 8601. An `updateTime` never goes back, even if this does. */
  time: string
  /** Absent for changes by the system itself or by a command with access to the database. */
  authorization?: Authorization
}

/** The access that a request was granted; its change checks it again inside the transaction. */
export interface Authorization {
  credential: Credential
  access: Access
  /** The project that the access is to; absent: any. */
  projectId?: string
}

/** Limits that the transaction of a change enforces. */
export interface KeyLimits {
  maxKeys: number
  maxJwksBytes: number
}

/** `If-Match`, and the setting that the entity tag of a key depends on. */
export interface KeyPrecondition {
  ifMatch: string
  /** Seconds. */
  jwksMaxAge: number
}

export interface WeaknessReport {
  /** Weaknesses that the ledger did not have yet. */
  reported: IntakeCode[]
  /** Whether the key is active after the report. */
  active: boolean
  /** Whether the report deactivated it. */
  deactivated: boolean
}

export interface KeyToImport {
  /** Index in the request. */
  index: number
  key: KeyRecord
  /** Whether the caller chose the kid. */
  kidProvided: boolean
}

/** Usage before and after an import. */
interface Capacity {
  before: number
  after: number
  limit: number
}

/** Nothing was stored if anything was `rejected`. */
export interface ImportResult {
  /** The admitted keys, in order. */
  items: { outcome: 'created' | 'present'; kid: string }[]
  rejected: FieldError[]
  room: { keys: Capacity; jwksBytes: Capacity }
}

interface CredentialUse extends Credential {
  time: string
}

/** A token that is accepted once: the digest of its issuer and `jti`, and its end (ISO 8601). */
export interface TokenUse {
  digest: string
  until: string
}

/** Which sessions end; `identity` is whom the provider has signed out. */
type EndedSessions =
  | { ids: readonly string[]; identity?: { issuer: string; subject: string } }
  | { personId: string }

export type SessionEndReason =
  | 'signed_out'
  | 'revoked'
  | 'replaced'
  | 'expired'
  | 'limit'
  | 'provider_logout'
  | 'person_deleted'
  | 'api_key_deleted'

/** A merge patch (RFC 7396) of a record in the ledger of the system. */
interface RecordUpdate<Kind extends string, Patch> extends RecordReference {
  type: `${Kind}.update`
  origin: Origin
  patch: Patch
}

interface RecordDeletion<Kind extends string> extends RecordReference {
  type: `${Kind}.delete`
  origin: Origin
}

interface RotationChange<Step extends string> {
  type: `rotation.${Step}`
  origin: Origin
  projectId: string
  id: string
  jwksMaxAge: number
}

/**
 * A mutation as plain data, so that it can be queued, sent to the writer thread, committed together
 * with others, and repeated after an unclear commit: it contains the ids it creates. Long, as is this
 * file, because it is the list of all changes.
 */
export type Change =
  | { type: 'project.create'; origin: Origin; id: string; name: string }
  | { type: 'project.rename'; origin: Origin; projectId: string; name: string; ifMatch?: string }
  | { type: 'project.delete'; origin: Origin; projectId: string; ifMatch?: string }
  | { type: 'key.create'; origin: Origin; key: KeyRecord; limits: KeyLimits }
  | {
      type: 'key.import'
      origin: Origin
      projectId: string
      keys: KeyToImport[]
      limits: KeyLimits
      /** Kids of registered RSA keys that share no prime with those of the import. */
      compared: string[]
      /** Return the result without storing anything. */
      dryRun: boolean
    }
  | {
      type: 'key.update'
      origin: Origin
      projectId: string
      /** Its id or `publishedKid`. */
      kid: string
      patch: JwtKeyUpdate
      precondition?: KeyPrecondition
      limits: KeyLimits
    }
  | {
      type: 'key.delete'
      origin: Origin
      projectId: string
      /** Its id or `publishedKid`. */
      kid: string
      precondition?: KeyPrecondition
    }
  | {
      type: 'key.report_weakness'
      origin: Origin
      projectId: string
      kid: string
      weaknesses: IntakeCode[]
      deactivate: boolean
    }
  | { type: 'key.pass_audit'; projectId: string; kids: string[]; rules: string; time: string }
  /** `from` and `to`: ids or `publishedKid`s. */
  | (RotationChange<'start'> & { from: string; to: string; tokenLifetime: number })
  | (RotationChange<'update'> & { ifMatch?: string; patch: RotationUpdate })
  /** Sets the `expireTime` of the old key. */
  | RotationChange<'finish'>
  | (RotationChange<'abandon'> & { ifMatch?: string })
  | {
      type: 'private_key.refuse'
      origin: Origin
      /** Absent: the event goes to the system ledger. */
      projectId?: string
      exposed: ExposedKey
    }
  | {
      type: 'api_key.create'
      origin: Origin
      apiKey: ApiKeyRecord
      /** Creates it only if there is no API key yet; otherwise returns the oldest one. */
      first?: true
    }
  | RecordUpdate<'api_key', ApiKeyUpdate>
  | RecordDeletion<'api_key'>
  | {
      type: 'log.start'
      origin: Origin
      tree: Pick<LogTree, 'id' | 'origin' | 'verifierKey'>
      /** The tree that ends: the one that grows in the database, and what was last signed. */
      previous?: { id?: string; origin?: string; size?: number; hash?: string }
    }
  | {
      type: 'log.append'
      /** The id of the tree. */
      id: string
      /** The size before. If it is another, or an entry is later than `notSince`, nothing is done. */
      size: number
      notSince: string
      time: string
      entries: NewLogEntry[]
      tiles: LogTile[]
    }
  | { type: 'log.publish'; id: string; size: number; checkpoint: string }
  | { type: 'ledger.accept'; origin: Origin; ledgerId: string }
  | { type: 'credential.touch'; uses: CredentialUse[] }
  | {
      type: 'session.create'
      origin: Origin
      session: SessionRecord
      /** Who signs in; absent for an API key. The one with this issuer and subject keeps its id. */
      person?: PersonRecord
      /** Id of the session that it takes the place of. */
      replaces?: string
      /** Sessions that were last used before this have ended (ISO 8601). */
      idleSince: string
    }
  | {
      type: 'session.end'
      origin: Origin
      ended: EndedSessions
      reason: SessionEndReason
      /** The use of the logout token. */
      once?: TokenUse
    }
  | { type: 'person.delete'; origin: Origin; id: string }
  | { type: 'access_rule.create'; origin: Origin; rule: AccessRuleRecord }
  | RecordUpdate<'access_rule', AccessRuleUpdate>
  | RecordDeletion<'access_rule'>
  | {
      type: 'token.exchange'
      origin: Origin
      apiKey: ApiKeyRecord
      /**
       * As it was when it accepted the token; the change is refused if it no longer is. Absent for an
       * API key of a session, which authorizes the change.
       */
      rule?: WorkloadRule
      matched: [claim: string, value: ClaimValue][]
      once?: TokenUse
    }
  /** Deletes remembered tokens that have expired by then, and exchanged API keys a day later. */
  | { type: 'token.forget'; time: string }
  /** Writes and undoes it, to find out whether the storage accepts changes. */
  | { type: 'storage.try' }

export type ChangeType = Change['type']
export type ChangeOf<T extends ChangeType> = Extract<Change, { type: T }>

/** A patched key, and what the patch entails for its project. */
export interface KeyUpdate {
  key: KeyRecord
  warnings: KeyWarning[]
}

/** What the changes that have a result return. */
interface Results {
  'project.create': ProjectRecord
  'project.rename': ProjectRecord
  'key.create': KeyRecord
  'key.import': ImportResult
  'key.update': KeyUpdate
  'key.report_weakness': WeaknessReport
  'api_key.create': ApiKeyRecord
  'api_key.update': ApiKeyRecord
  /** Whether the entries were appended. */
  'log.append': boolean
  'session.create': SessionRecord
  /** How many have ended. */
  'session.end': number
  'access_rule.create': AccessRuleRecord
  'access_rule.update': AccessRuleRecord
}

/** The result of each change, once it is durable. */
export type ChangeResults = {
  [Type in ChangeType]: Type extends keyof Results ? Results[Type] : undefined
}
