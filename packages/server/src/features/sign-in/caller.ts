import { PubringError } from '../../errors.ts'
import {
  type Caller,
  type CredentialKind,
  findCredential,
  invalidSession,
  type Look,
  type ReadCaller,
} from '../../kernel/access/callers.ts'
import { earliest, isoTime } from '../../kernel/values/times.ts'
import { grantsOf } from '../access-rules/people.ts'
import { readPeopleRules } from '../access-rules/reads.ts'
import { findSessionByDigest } from './reads.ts'
import { type SessionRecord, sessions } from './stored.ts'

/** Milliseconds after which an unused session ends: a browser that was left has no rights for long. */
const sessionIdleMs = 30 * 60_000

/** Sessions that were last used before this have ended at the time (both ISO 8601). */
export function idleSince(time: string): string {
  return isoTime(Date.parse(time) - sessionIdleMs)
}

export const sessionCredential: CredentialKind = {
  type: 'session',
  caller: async (look, by, readCaller) => {
    const session = await findCredential(look, by, sessions, findSessionByDigest)
    return readSessionCaller(look, session, readCaller)
  },
}

/**
 * The holder of a session: the API key that signed in, or a person with the roles that the rules give
 * them now. Throws `invalid_session` if the session has ended, or gives no role any more.
 */
export async function readSessionCaller(
  look: Look,
  session: SessionRecord | undefined,
  readCaller: ReadCaller,
): Promise<Caller> {
  if (session === undefined || session.contradicted) throw invalidSession()
  const { apiKeyId, person, lastUseTime } = session
  const holder = apiKeyId === undefined ? undefined : await readHolder(look, apiKeyId, readCaller)
  const idleEnd = isoTime(Date.parse(lastUseTime) + sessionIdleMs)
  const expireTime = earliest(session.expireTime, idleEnd, holder?.expireTime)
  if (expireTime <= look.time) throw invalidSession()
  if (holder !== undefined) return { ...holder, expireTime, session }
  const grants = grantsOf(person, await readPeopleRules(look.db, look))
  if (grants.length === 0) throw invalidSession()
  return { grants, expireTime, session }
}

async function readHolder(look: Look, id: string, readCaller: ReadCaller): Promise<Caller> {
  try {
    return await readCaller(look, { type: 'api_key', id })
  } catch (error) {
    if (error instanceof PubringError && error.code === 'invalid_api_key') throw invalidSession()
    throw error
  }
}
