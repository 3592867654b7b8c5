import type { Role } from '../../contract/roles.ts'
import type { FieldError } from '../../errors.ts'
import type { IntakeCode } from '../../intake/codes/index.ts'
import type { ExposedKey } from '../../intake/types.ts'
import type { ApiKeyRecord, KeyRecord, ProjectRecord } from '../records.ts'

/** Who asked for a change, when, and in which request: what its ledger event will say. */
export interface Origin {
  actor: { apiKeyId?: string; name: string }
  requestId: string
  /** The request's time; a later change never gets an earlier `updateTime` than the one before. */
  time: string
}

/** Limits that are checked in the change's own transaction. */
export interface KeyLimits {
  maxKeys: number
  maxJwksBytes: number
}

/** `If-Match`, and the setting that the tag of a key depends on besides the key itself. */
export interface KeyPrecondition {
  ifMatch: string
  /** Seconds. */
  jwksMaxAge: number
}

export interface KeyPatch {
  label?: string
  active?: boolean
  /** `null` clears it. */
  expireTime?: string | null
}

export interface ApiKeyPatch {
  name?: string
  role?: Role
  active?: boolean
  /** `null` clears it. */
  expireTime?: string | null
}

/** What came of a report: which weaknesses were new to the ledger, and what became of the key. */
export interface WeaknessReport {
  reported: IntakeCode[]
  /** Whether the key is active now, and whether the report switched it off. */
  active: boolean
  deactivated: boolean
}

/** One key of an import; the kid is made before it is sent, as that of every key. */
export interface KeyToImport {
  /** Its place in the request. */
  index: number
  key: KeyRecord
  /** Whether the caller chose the kid. */
  kidProvided: boolean
}

/** How full something is before and after an import. */
interface Capacity {
  before: number
  after: number
  limit: number
}

/** What came of an import; where anything is `refused`, nothing was stored. */
export interface ImportResult {
  /** Of the keys that are not refused, in the order given. */
  items: { outcome: 'created' | 'present'; kid: string }[]
  rejected: FieldError[]
  room: { keys: Capacity; jwksBytes: Capacity }
}

/** The last use of an API key that is not yet written down. */
export interface ApiKeyUse {
  id: string
  time: string
}

/**
 * Every change there is, as plain data: it can be queued, sent to the thread that writes, committed
 * together with others and repeated after an unclear commit (ids are made before it is sent).
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
      /** Kids of the RSA keys that those of the import were compared with: they share no prime. */
      compared: string[]
      /** Only say what would come of it. */
      dryRun: boolean
    }
  | {
      type: 'key.update'
      origin: Origin
      projectId: string
      kid: string
      patch: KeyPatch
      precondition?: KeyPrecondition
      limits: KeyLimits
    }
  | {
      type: 'key.delete'
      origin: Origin
      projectId: string
      kid: string
      precondition?: KeyPrecondition
    }
  | {
      type: 'key.report_weakness'
      origin: Origin
      projectId: string
      kid: string
      weaknesses: IntakeCode[]
      /** Whether the key is switched off with it. */
      deactivate: boolean
    }
  | { type: 'key.pass_audit'; projectId: string; kids: string[]; rules: string; time: string }
  | {
      type: 'private_key.refuse'
      origin: Origin
      /** Absent: the event goes to the system's ledger. */
      projectId?: string
      exposed: ExposedKey
    }
  | {
      type: 'api_key.create'
      origin: Origin
      apiKey: ApiKeyRecord
      /** Only where there is none yet; otherwise the oldest one is the answer. */
      first?: true
    }
  | {
      type: 'api_key.update'
      origin: Origin
      id: string
      boundTo?: string
      patch: ApiKeyPatch
      ifMatch?: string
    }
  | { type: 'api_key.delete'; origin: Origin; id: string; boundTo?: string; ifMatch?: string }
  | { type: 'api_key.touch'; uses: ApiKeyUse[] }

export type ChangeType = Change['type']
export type ChangeOf<T extends ChangeType> = Extract<Change, { type: T }>

/** What each change answers once it is durable. */
export interface ChangeResults {
  'project.create': ProjectRecord
  'project.rename': ProjectRecord
  'project.delete': undefined
  'key.create': KeyRecord
  'key.import': ImportResult
  'key.update': KeyRecord
  'key.delete': undefined
  'key.report_weakness': WeaknessReport
  'key.pass_audit': undefined
  'private_key.refuse': undefined
  'api_key.create': ApiKeyRecord
  'api_key.update': ApiKeyRecord
  'api_key.delete': undefined
  'api_key.touch': undefined
}
