import {
  createAccessRule,
  deleteAccessRule,
  updateAccessRule,
} from '../../features/access-rules/apply.ts'
import {
  createApiKey,
  deleteApiKey,
  touchCredentials,
  updateApiKey,
} from '../../features/api-keys/apply.ts'
import { passAudit, reportWeakness } from '../../features/audit/apply.ts'
import { deleteKey, updateKey } from '../../features/keys/apply.ts'
import { rejectPrivateKey } from '../../features/keys/exposure/apply.ts'
import { writeAndUndo } from '../../features/keys/exposure/fingerprints.ts'
import { createKey, importKeys } from '../../features/keys/registration/apply.ts'
import { appendToLog, publishCheckpoint, startLog } from '../../features/log/apply.ts'
import { createProject, deleteProject, renameProject } from '../../features/projects/apply.ts'
import {
  abandonRotation,
  finishRotation,
  startRotation,
  updateRotation,
} from '../../features/rotations/apply.ts'
import { createSession, deletePerson, endSessions } from '../../features/sign-in/apply.ts'
import { exchangeToken, forgetTokens } from '../../features/token-exchange/apply.ts'
import type { Appliers } from '../changes.ts'
import { acceptLedger } from '../ledger/acceptance.ts'
import type { Change, ChangeOf, ChangeResults, ChangeType } from '../ledger/changes.ts'
import type { Outcome } from './outcome.ts'
import type { Db } from './schema.ts'

type Listed = {
  [T in ChangeType]: (
    db: Db,
    change: ChangeOf<T>,
    registered: Appliers,
  ) => Promise<Outcome<ChangeResults[T]>>
}

const listed: Listed = {
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
  registered: Appliers,
  db: Db,
  change: ChangeOf<T> & Change,
): Promise<Outcome<ChangeResults[T]>> {
  const apply: Listed[T] = listed[change.type as T]
  return apply(db, change, registered)
}
