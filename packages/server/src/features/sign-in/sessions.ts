import { PubringError } from '../../errors.ts'
import { recentSignInSeconds, signedInRecently } from '../../kernel/access/authorization.ts'
import { auditAccess, permits } from '../../kernel/access/grants.ts'
import type { Principal, RequestContext } from '../../kernel/access/principal.ts'
import { apiKeyDigest, newApiKeySecret } from '../../kernel/access/secrets.ts'
import type { Context } from '../../kernel/context.ts'
import { notFound } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { deletionOf, requireId } from '../../kernel/managed-records.ts'
import { newId, parseId } from '../../kernel/values/ids.ts'
import { earliest, isoTime, now } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { readApiKeysById } from '../api-keys/reads.ts'
import { apiKeys } from '../api-keys/stored.ts'
import { idleSince } from './caller.ts'
import { signInChanges } from './changes.ts'
import type { Person, Self, Session } from './contract.ts'
import { readEnded, readPeople, readSessions } from './reads.ts'
import {
  type Device,
  isSamePerson,
  nameOf,
  type PersonRecord,
  type SessionRecord,
  sessions,
} from './stored.ts'

/** Who signs in, where, and when they proved who they are. */
export type Holder = Pick<
  SessionRecord,
  'person' | 'apiKeyId' | 'signInTime' | 'firstId' | 'approvedBy' | keyof Device
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
  const session = {
    ...holder,
    id: newId(),
    digest: apiKeyDigest(secret),
    createTime: time,
    expireTime: earliest(isoTime(nowMs + config.sessionLifetime * 1_000), end),
    lastUseTime: time,
  }
  return { session, secret }
}

/** How often sessions are looked for that have ended by themselves, and how many end at a time. */
const endingIntervalMs = 60_000
const maxEnded = 500

/**
 * Records the end of sessions that have expired, or were unused for a minute longer than they may be, for
 * last uses that are not written yet: none comes back, whatever its last use says later. Best effort: what
 * is left ends the next time.
 */
export function endUnusedSessions({ store, clock, onClose }: Kernel): void {
  async function endUnused(): Promise<void> {
    const time = now(clock)
    const since = isoTime(Date.parse(idleSince(time)) - endingIntervalMs)
    const ids = await readEnded(store.reader, { now: time, idleSince: since, limit: maxEnded })
    if (ids.length === 0) return
    const origin = { actor: { name: 'pubring serve' }, requestId: newId(), time }
    await store.commit(signInChanges.endSessions, { origin, ended: { ids }, reason: 'expired' })
  }
  const timer = setInterval(() => void endUnused().catch(() => {}), endingIntervalMs).unref()
  onClose(() => clearInterval(timer))
}

/** Exchanges the API key of the request for a session, which ends with it. */
export async function signInWithApiKey(
  context: RequestContext,
  device: Device,
): Promise<NewSession> {
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
  const holder = { apiKeyId: apiKey.id, signInTime: origin.time, ...device }
  const created = newSession(context, holder, apiKey.expireTime)
  const { session } = created
  await store.commit(signInChanges.createSession, { origin, session })
  return created
}

/** The caller's own session; throws `session_not_found` if the request has an API key. */
export function ownSessionId({ credential }: Principal): string {
  if (credential.type !== 'session') throw notFound('session_not_found')
  return credential.id
}

/** Live sessions: all of them for admins and auditors of all projects, otherwise those of the caller. */
export async function listSessions(
  { store: { reader }, clock }: Pick<Context, 'store' | 'clock'>,
  { grants, holder, credential }: Principal,
): Promise<Session[]> {
  const sessions = await readSessions(reader, permits(grants, auditAccess) ? 'all' : holder)
  const time = now(clock)
  const since = idleSince(time)
  const shown = sessions.filter(
    ({ expireTime, lastUseTime }) => expireTime > time && lastUseTime >= since,
  )
  const people = await readPeople(reader, distinct(shown.map(({ person }) => person?.subject)))
  const apiKeys = await readApiKeysById(reader, distinct(shown.map(({ apiKeyId }) => apiKeyId)))
  const nameOfKey = new Map(apiKeys.map(({ id, name }) => [id, name]))
  return shown.map((session) => {
    const { id, person, apiKeyId = '' } = session
    const known = people.find((one) => isSamePerson(one, person))
    const name = person ? nameOf(known, person.subject) : (nameOfKey.get(apiKeyId) ?? '')
    const approver = shown.find(({ id, firstId = id }) => firstId === session.approvedBy)
    const approvedBy = approver?.id ?? session.approvedBy
    return toSession({ ...session, ...present({ approvedBy }) }, name, id === credential.id)
  })
}

function distinct(all: readonly (string | undefined)[]): string[] {
  return [...new Set(all.filter((id) => id !== undefined))]
}

/** Names each member, so that none of the record that is not public is in a response. */
export function toSession(record: SessionRecord, name: string, current: boolean): Session {
  const { id, person, apiKeyId, signInTime, createTime, expireTime, lastUseTime } = record
  const { approvedBy, client, address } = record
  return {
    id,
    name,
    kind: approvedBy === undefined ? 'browser' : 'command_line',
    ...present({ personId: person?.id, apiKeyId, client, address, approvedBy, signInTime }),
    current,
    createTime,
    expireTime,
    lastUseTime,
  }
}

/** A person as responses show them. */
function shownPerson(record: PersonRecord): Person {
  const { contradicted: _contradicted, claims: _claims, ...person } = record
  return person
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

/** Who the caller is, and what they may do. */
export async function describeSelf(context: Context, principal: Principal): Promise<Self> {
  const { store, clock } = context
  const { credential, grants, holder, actor } = principal
  const people = 'subject' in holder ? await readPeople(store.reader, [holder.subject]) : []
  const person = people.find((one) => isSamePerson(one, actor.user))
  const name = actor.user === undefined ? actor.name : nameOf(person, actor.user.subject)
  const session =
    credential.type === 'session' ? await sessions.find(store.reader, credential.id) : undefined
  const isRecent = session && signedInRecently(session, clock.now())
  const recentUntil = Date.parse(session?.signInTime ?? '') + recentSignInSeconds * 1_000
  return {
    type: 'subject' in holder ? 'person' : 'api_key',
    name,
    ...('apiKeyId' in holder ? holder : {}),
    grants: [...grants],
    ...(session && { session: toSession(session, name, true) }),
    ...(person && { person: shownPerson(person) }),
    ...present({ recentSignInUntil: isRecent ? isoTime(recentUntil) : undefined }),
  }
}

export async function listPeople({ store }: Context): Promise<Person[]> {
  return (await readPeople(store.reader)).map(shownPerson)
}

/** Erases name and email of a person, and ends their sessions. Throws `person_not_found`. */
export const deletePerson = deletionOf(signInChanges.deletePerson, 'person_not_found')
