import type { Kysely } from 'kysely'
import type { Change, ChangeOf, ChangeResults, ChangeType } from '../../core/ledger/changes.ts'
import type { Tables } from '../schema.ts'
import { createApiKey, deleteApiKey, touchApiKeys, updateApiKey } from './api-keys.ts'
import { passAudit } from './audits.ts'
import { importKeys } from './key-imports.ts'
import { createKey, deleteKey, updateKey } from './keys.ts'
import { refusePrivateKey } from './private-keys.ts'
import { createProject, deleteProject, renameProject } from './projects.ts'
import { reportWeakness } from './weaknesses.ts'

/** What came of a change; where nothing `changed`, its transaction must be rolled back. */
export interface Outcome<Result> {
  result: Result
  changed: boolean
}

type Appliers = {
  [T in ChangeType]: (db: Kysely<Tables>, change: ChangeOf<T>) => Promise<Outcome<ChangeResults[T]>>
}

const appliers: Appliers = {
  'project.create': createProject,
  'project.rename': renameProject,
  'project.delete': deleteProject,
  'key.create': createKey,
  'key.import': importKeys,
  'key.update': updateKey,
  'key.delete': deleteKey,
  'key.report_weakness': reportWeakness,
  'key.pass_audit': passAudit,
  'private_key.refuse': refusePrivateKey,
  'api_key.create': createApiKey,
  'api_key.update': updateApiKey,
  'api_key.delete': deleteApiKey,
  'api_key.touch': touchApiKeys,
}

/**
 * Carries out one change, on any engine, within a transaction (or savepoint) that the caller opened
 * and will commit. Throws a PubringError where the change is refused; then, as where nothing
 * changed, the caller rolls back.
 */
export function applyChange<T extends ChangeType>(
  db: Kysely<Tables>,
  change: ChangeOf<T> & Change,
): Promise<Outcome<ChangeResults[T]>> {
  const apply: Appliers[T] = appliers[change.type as T]
  return apply(db, change)
}
