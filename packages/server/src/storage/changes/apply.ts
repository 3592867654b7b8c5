import type { Change, ChangeOf, ChangeResults, ChangeType } from '../../core/ledger/changes.ts'
import type { Db } from '../schema.ts'
import { acceptLedger } from './acceptance.ts'
import { createAccessRule, deleteAccessRule, updateAccessRule } from './access-rules.ts'
import { createApiKey, deleteApiKey, touchCredentials, updateApiKey } from './api-keys.ts'
import { passAudit, reportWeakness } from './audits.ts'
import { writeAndUndo } from './fingerprints.ts'
import { createKey, importKeys } from './key-imports.ts'
import { deleteKey, updateKey } from './keys.ts'
import { appendToLog, publishCheckpoint, startLog } from './log.ts'
import type { Outcome } from './outcome.ts'
import { rejectPrivateKey } from './private-keys.ts'
import { createProject, deleteProject, renameProject } from './projects.ts'
import {
  abandonRotation,
  finishRotation,
  startRotation,
  updateRotation,
} from './rotations/rotations.ts'
import { createSession, deletePerson, endSessions } from './sign-in/sessions.ts'
import { exchangeToken, forgetTokens } from './token-exchange.ts'

type Appliers = {
  [T in ChangeType]: (db: Db, change: ChangeOf<T>) => Promise<Outcome<ChangeResults[T]>>
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
  'rotation.start': startRotation,
  'rotation.update': updateRotation,
  'rotation.finish': finishRotation,
  'rotation.abandon': abandonRotation,
  'private_key.refuse': rejectPrivateKey,
  'api_key.create': createApiKey,
  'api_key.update': updateApiKey,
  'api_key.delete': deleteApiKey,
  'log.start': startLog,
  'log.append': appendToLog,
  'log.publish': publishCheckpoint,
  'ledger.accept': acceptLedger,
  'credential.touch': touchCredentials,
  'session.create': createSession,
  'session.end': endSessions,
  'person.delete': deletePerson,
  'access_rule.create': createAccessRule,
  'access_rule.update': updateAccessRule,
  'access_rule.delete': deleteAccessRule,
  'token.exchange': exchangeToken,
  'token.forget': forgetTokens,
  'storage.try': writeAndUndo,
}

/**
 * Applies one change, on any engine, in a transaction or savepoint that the caller has opened. The
 * caller rolls back if this throws (a PubringError if the change is rejected) or nothing changed.
 */
export function applyChange<T extends ChangeType>(
  db: Db,
  change: ChangeOf<T> & Change,
): Promise<Outcome<ChangeResults[T]>> {
  const apply: Appliers[T] = appliers[change.type as T]
  return apply(db, change)
}
