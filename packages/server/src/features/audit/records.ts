import type { Fault } from '@pubring/intake'
import type { KeyRecord } from '../keys/stored.ts'

/** The key of a finding, as the operator sees it. Ledgers of projects never name other projects. */
export interface AuditSubject {
  projectId: string
  projectName: string
  kid: string
}

export interface AuditedKey {
  key: KeyRecord
  projectName: string
  /** Whether its private key was ever submitted here. */
  wasExposed: boolean
}

export interface AuditScope {
  /** Absent: all projects. */
  projectId?: string
  /** Leaves out keys that passed these rules. */
  withoutPassOf?: string
}

export interface AuditPage {
  /** The last key of the previous page. */
  after?: { projectId: string; kid: string }
  limit: number
}

export interface AuditFinding extends AuditSubject, Fault {
  /** Whether this audit wrote it to the project's ledger; otherwise an earlier one did. */
  isNew: boolean
  /** Whether the key is active after the audit. */
  active: boolean
  /** Whether this audit deactivated it. */
  deactivated: boolean
}

/** A key whose examination failed. */
export interface AuditFailure extends AuditSubject {
  reason: string
}

export type AuditStage = 'reading' | 'comparing' | 'examining'

export interface AuditListener {
  progress(stage: AuditStage, done: number, total: number): void
  finding(finding: AuditFinding): void
  failure(failure: AuditFailure): void
}

export interface AuditOptions {
  /** Audits only this project. Its keys are still compared with those of all projects. */
  projectId?: string
  deactivate: boolean
  /** Also examines the keys that passed before. */
  again: boolean
  signal?: AbortSignal
}

export interface AuditSummary {
  rules: string
  /** Keys of the audited projects. */
  keys: number
  /** Keys examined by this audit; the others had passed before. */
  examined: number
  /** False if the audit was interrupted; the next one continues from there. */
  complete: boolean
}
