import { change, type Origin, type RecordChange } from '../../kernel/changes.ts'
import type { PersonRecord, SessionRecord } from './stored.ts'

export interface SessionCreation {
  origin: Origin
  session: SessionRecord
  /** Who signs in; absent for an API key. The one with this issuer and subject keeps its id. */
  person?: PersonRecord
  /** Id of the session that it takes the place of. */
  replaces?: string
}

export type SessionEndReason =
  | 'signed_out'
  | 'revoked'
  | 'approver_ended'
  | 'replaced'
  | 'expired'
  | 'limit'
  | 'provider_logout'
  | 'person_deleted'
  | 'api_key_deleted'

export interface SessionEnd {
  origin: Origin
  /** Which sessions end. */
  ended: { ids: readonly string[] } | { personId: string }
  reason: SessionEndReason
  /** The digest of the logout token, which is accepted once. */
  once?: string
}

export const signInChanges = {
  createSession: change<SessionCreation, SessionRecord>('session.create', {
    events: ({ session }) => ({ subjects: [session.id] }),
  }),
  /** Returns how many have ended. */
  endSessions: change<SessionEnd, number>('session.end', {
    events: () => ({ types: ['session.ended', 'token.used'] }),
  }),
  deletePerson: change<RecordChange>('person.delete'),
}
