import type { Fault } from '../../intake/types.ts'
import type { Store } from '../context.ts'
import type { KeyRecord } from '../records.ts'

/** Which key a finding is about, for the operator: a project's own ledger never hears of others. */
export interface AuditSubject {
  projectId: string
  projectName: string
  kid: string
}

export interface AuditedKey {
  key: KeyRecord
  projectName: string
  /** Whether its private half was once submitted here. */
  wasExposed: boolean
}

/** Which keys a read is about: of one project or of all, all or those that have not passed. */
export interface AuditScope {
  projectId?: string
  /** Leaves out the keys that have passed these rules. */
  withoutPassOf?: string
}

export interface AuditPage {
  /** The last key of the page before. */
  after?: { projectId: string; kid: string }
  limit: number
}

/** All that an audit reads; each method is one statement. */
export interface AuditReads {
  /** A page in order of project and key. */
  auditedKeys(scope: AuditScope, page: AuditPage): Promise<AuditedKey[]>
  countAuditedKeys(scope: AuditScope): Promise<number>
}

export type AuditStore = AuditReads & Pick<Store, 'commit' | 'findProject' | 'close'>

export interface AuditFinding extends AuditSubject, Fault {
  /** Told to the project's ledger by this audit; an earlier one told of the rest. */
  isNew: boolean
  /** Whether the key is active after the audit. */
  active: boolean
  /** Whether this audit switched it off. */
  deactivated: boolean
}

/** A key that could not be examined, through no fault of its own that is known. */
export interface AuditFailure extends AuditSubject {
  reason: string
}

export type AuditStage = 'reading' | 'comparing' | 'examining'

/** Who hears of what happens while it happens. */
export interface AuditListener {
  progress(stage: AuditStage, done: number, total: number): void
  finding(finding: AuditFinding): void
  failure(failure: AuditFailure): void
}

export interface AuditOptions {
  /** Findings and slow checks of this project alone; it is compared with all the others. */
  projectId?: string
  deactivate: boolean
  /** Examines the keys that have passed already, too. */
  again: boolean
  signal?: AbortSignal
}

export interface AuditSummary {
  rules: string
  /** Keys in the audit's scope. */
  keys: number
  /** Keys that went through the slow checks this time; the others had passed them. */
  examined: number
  /** False where the audit was interrupted: the next one goes on from there. */
  complete: boolean
}
