import { PubringError } from '../../errors.ts'
import { recentSignInSeconds, signedInRecently } from '../../kernel/access/authorization.ts'
import type { Caller } from '../../kernel/access/callers.ts'
import { auditAccess, permits } from '../../kernel/access/grants.ts'
import type { Principal, RequestContext } from '../../kernel/access/principal.ts'
import { apiKeyDigest, newApiKeySecret } from '../../kernel/access/secrets.ts'
import type { Context } from '../../kernel/context.ts'
import { notFound } from '../../kernel/faults.ts'
import { requireId } from '../../kernel/managed-records.ts'
import { newId, parseId } from '../../kernel/values/ids.ts'
import { isoTime } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { readApiKeysById } from '../api-keys/reads.ts'
import { type ApiKeyRecord, apiKeys } from '../api-keys/stored.ts'
import { sessionIdleMs } from './caller.ts'
import { signInChanges } from './changes.ts'
import type { Person, Self, Session } from './contract.ts'
import { readPeople, readSessions } from './reads.ts'
import { nameOf, type PersonRecord, type SessionRecord, sessions } from './stored.ts'

/** Who signs in, and when they proved who they are. */
export type Holder = Pick<
  SessionRecord,
  'person' | 'apiKeyId' | 'signInTime' | 'firstId' | 'approvedBy'
>

/** A new session and its secret, which only the cookie holds. */
export interface NewSession {
  session: SessionRecord
  secret: string
}

/** A session has a new secret and id, independent of what the browser sent (session fixation). */
export function newSession({ config, clock }: Context, holder: Holder, end?: string): NewSession {
  const secret = newApiKeySecret()
  const nowMs = clock.now()
  const time = isoTime(nowMs)
  const latestEnd = isoTime(nowMs + config.sessionLifetime * 1_000)
  const session = {
    ...holder,
    id: newId(),
    digest: apiKeyDigest(secret),
    createTime: time,
    expireTime: end !== undefined && end < latestEnd ? end : latestEnd,
    lastUseTime: time,
  }
  return { session, secret }
}

/** Sessions that were last used before this have ended. */
export function idleSince({ clock }: Pick<Context, 'clock'>): string {
  return isoTime(clock.now() - sessionIdleMs)
}

/** Exchanges the API key of the request for a session, which ends with it. */
export async function signInWithApiKey(context: RequestContext): Promise<NewSession> {
  const { store, origin, principal } = context
  const { credential } = principal
  const apiKey =
    credential.type === 'api_key' ? await apiKeys.find(store.reader, credential.id) : undefined
  if (apiKey === undefined || apiKey.exchanged !== undefined) {
    throw new PubringError(
      'invalid_request',
      'To sign in, send the secret of an API key in the X-Api-Key header. A session cannot create another.',
    )
  }
  const holder = { apiKeyId: apiKey.id, signInTime: origin.time }
  const created = newSession(context, holder, apiKey.expireTime)
  const { session } = created
  await store.commit(signInChanges.createSession, {
    origin,
    session,
    idleSince: idleSince(context),
  })
  return created
}

/** The caller's own session; throws `session_not_found` if the request has an API key. */
export function ownSessionId({ credential }: Principal): string {
  if (credential.type !== 'session') throw notFound('session_not_found')
  return credential.id
}

/**
 * Live sessions: for admins and auditors of all projects all of them, or those of one person; for other callers
 * their own.
 */
export async function listSessions(
  context: Pick<Context, 'store' | 'clock'>,
  principal: Principal,
  personId?: string,
): Promise<Session[]> {
  const { reader } = context.store
  const seesAll = permits(principal.grants, auditAccess)
  const owner = seesAll && personId !== undefined ? { personId } : 'all'
  const sessions = await readSessions(reader, seesAll ? owner : principal.holder)
  const time = isoTime(context.clock.now())
  const since = idleSince(context)
  const isLive = ({ expireTime, lastUseTime }: SessionRecord) =>
    expireTime > time && lastUseTime >= since
  const shown = sessions.filter(
    (session) => isLive(session) && [undefined, session.person?.id].includes(personId),
  )
  const people = await readPeople(reader, idsOf(shown.map(({ person }) => person?.id)))
  const apiKeys = await readApiKeysById(reader, idsOf(shown.map(({ apiKeyId }) => apiKeyId)))
  const personOf = new Map(people.map((person) => [person.id, person]))
  const apiKeyOf = new Map(apiKeys.map((apiKey) => [apiKey.id, apiKey]))
  return shown.map((session) => {
    const { person, apiKeyId = '' } = session
    const holder = { person: personOf.get(person?.id ?? ''), apiKey: apiKeyOf.get(apiKeyId) }
    return describeSession(session, principal, holder)
  })
}

function idsOf(all: readonly (string | undefined)[]): string[] {
  return [...new Set(all.filter((id) => id !== undefined))]
}

/** The holder of a session, as far as it still exists. */
interface KnownHolder {
  person: PersonRecord | undefined
  apiKey: ApiKeyRecord | undefined
}

function describeSession(
  session: SessionRecord,
  { credential }: Principal,
  { person, apiKey }: KnownHolder,
): Session {
  const subject = session.person?.subject
  const name = subject === undefined ? (apiKey?.name ?? '') : nameOf(person, subject)
  return toSession(session, name, credential.id === session.id)
}

/** Names each member, so that none of the record that is not public is in a response. */
export function toSession(record: SessionRecord, name: string, current: boolean): Session {
  const { id, person, apiKeyId, signInTime, createTime, expireTime, lastUseTime } = record
  return {
    id,
    name,
    ...present({ personId: person?.id, apiKeyId, signInTime }),
    current,
    createTime,
    expireTime,
    lastUseTime,
  }
}

/** Ends a session, from its next request on. Throws `session_not_found`. */
export async function endSession({ store, origin }: RequestContext, id: string): Promise<void> {
  const parsed = requireId(id, 'session_not_found')
  const isOwn = origin.authorization?.credential.id === parsed
  const reason = isOwn ? 'signed_out' : 'revoked'
  await store.commit(signInChanges.endSessions, { origin, ended: { ids: [parsed] }, reason })
}

/** Ends all sessions of a person. */
export async function endSessionsOf({ store, origin }: RequestContext, id: string): Promise<void> {
  const ended = { personId: parseId(id) ?? id }
  await store.commit(signInChanges.endSessions, { origin, ended, reason: 'revoked' })
}

/** Whether the session is of the person, or of the API key, that requests the change. */
export function isHolder({ session, apiKey }: Caller, one: SessionRecord): boolean {
  if (one.person !== undefined) return one.person.id === session?.person?.id
  return one.apiKeyId === apiKey?.id
}

/** Who the caller is, and what they may do. */
export async function describeSelf(context: Context, principal: Principal): Promise<Self> {
  const { store, clock } = context
  const { credential, grants, holder, actor } = principal
  const [person] = 'personId' in holder ? await readPeople(store.reader, [holder.personId]) : []
  const apiKey =
    'apiKeyId' in holder ? await apiKeys.find(store.reader, holder.apiKeyId) : undefined
  const session =
    credential.type === 'session' ? await sessions.find(store.reader, credential.id) : undefined
  const isRecent = session && signedInRecently(session, clock.now())
  const recentUntil = Date.parse(session?.signInTime ?? '') + recentSignInSeconds * 1_000
  return {
    type: 'personId' in holder ? 'person' : 'api_key',
    name: actor.user === undefined ? actor.name : nameOf(person, actor.user.subject),
    ...('apiKeyId' in holder ? holder : {}),
    grants: [...grants],
    ...(session && { session: describeSession(session, principal, { person, apiKey }) }),
    ...present({ person, recentSignInUntil: isRecent ? isoTime(recentUntil) : undefined }),
  }
}

export function listPeople({ store }: Context): Promise<Person[]> {
  return readPeople(store.reader)
}

/** Erases name and email of a person, and ends their sessions. Throws `person_not_found`. */
export async function deletePerson({ store, origin }: RequestContext, id: string): Promise<void> {
  await store.commit(signInChanges.deletePerson, { origin, id: requireId(id, 'person_not_found') })
}
