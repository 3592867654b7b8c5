import { type Caller, grantOf, invalidSession } from '../../kernel/access/callers.ts'
import { type CredentialKind, findCredential, type Look } from '../../kernel/access/credentials.ts'
import { isActive } from '../../kernel/values/expiry.ts'
import { isoTime } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { grantsOf } from '../access-rules/people.ts'
import { readPeopleRules } from '../access-rules/reads.ts'
import { apiKeys } from '../api-keys/stored.ts'
import { findSessionByDigest } from './reads.ts'
import { type SessionRecord, sessions } from './stored.ts'

/** Milliseconds after which an unused session ends: a browser that was left has no rights for long. */
export const sessionIdleMs = 30 * 60_000

export const sessionCredential: CredentialKind = {
  type: 'session',
  caller: async (look, by) =>
    readSessionCaller(look, await findCredential(look, by, sessions, findSessionByDigest)),
}

/**
 * The holder of a session: the API key that signed in, or a person with the roles that the rules give
 * them now. Throws `invalid_session` if the session has ended, or gives no role any more.
 */
export async function readSessionCaller(
  look: Look,
  session: SessionRecord | undefined,
): Promise<Caller> {
  if (session === undefined || session.contradicted) throw invalidSession()
  const { apiKeyId, person } = session
  const { db, time, isLocked } = look
  const findKey = isLocked ? apiKeys.lock : apiKeys.find
  const apiKey = apiKeyId === undefined ? undefined : await findKey(db, apiKeyId)
  const ends = [sessionEnd(session), apiKey?.expireTime ?? []].flat()
  const [expireTime = ''] = ends.sort()
  const isUsable =
    expireTime > time &&
    (apiKeyId === undefined || (apiKey !== undefined && isActive(apiKey, time)))
  const rules = person === undefined ? [] : await readPeopleRules(db, { isLocked })
  const grants = apiKey === undefined ? grantsOf(person, rules) : [grantOf(apiKey)]
  if (!isUsable || grants.length === 0) throw invalidSession()
  return { grants, expireTime, session, ...present({ apiKey }) }
}

function sessionEnd({ expireTime, lastUseTime }: SessionRecord): string {
  const idleEnd = isoTime(Date.parse(lastUseTime) + sessionIdleMs)
  return idleEnd < expireTime ? idleEnd : expireTime
}
