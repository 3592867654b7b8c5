import { PubringError } from '../../errors.ts'
import { compareClaims } from '../../features/access-rules/conditions.ts'
import { readPeopleRules } from '../../features/access-rules/reads.ts'
import type { PeopleRule } from '../../features/access-rules/stored.ts'
import { findApiKeyByDigest } from '../../features/api-keys/reads.ts'
import { type ApiKeyRecord, apiKeys, type Exchange } from '../../features/api-keys/stored.ts'
import { findByKid } from '../../features/keys/kids.ts'
import { readKeySet } from '../../features/keys/reads.ts'
import { findSessionByDigest } from '../../features/sign-in/reads.ts'
import { type SessionRecord, sessions } from '../../features/sign-in/stored.ts'
import { present } from '../../runtime/present.ts'
import type { Origin } from '../changes.ts'
import type { Actor } from '../ledger/chain.ts'
import type { ObservedHead } from '../records.ts'
import type { Db } from '../storage/schema.ts'
import { isActive } from '../values/expiry.ts'
import { isoTime } from '../values/times.ts'
import { type Credential, type Grant, requireAccess } from './grants.ts'

/** The holder of a credential, as the store had it at one time. */
export interface Caller {
  grants: readonly Grant[]
  /** ISO 8601; absent if the credential has no end. */
  expireTime?: string
  /** Set if the credential is an API key, or the session of one. */
  apiKey?: ApiKeyRecord
  /** Set if the credential is a session. */
  session?: SessionRecord
  /** Set if that API key was exchanged for a token, for the successor of a key. */
  voucher?: Voucher
}

/** A key that vouches for another one, which its API key may register. */
export interface Voucher {
  keyId: string
  ruleId: string
  /** RFC 7638 thumbprint. */
  successor: string
  /** The head of the project when the key was seen active. */
  head: ObservedHead
}

/** Where and when a credential is looked up. */
export interface Look {
  db: Db
  /** ISO 8601. */
  time: string
  /** Locks the rows until the transaction ends. */
  isLocked: boolean
}

/** The id of a credential, or the digest of its secret. */
export type CredentialReference = Credential | (Pick<Credential, 'type'> & { digest: string })

/** Milliseconds after which an unused session ends: a browser that was left has no rights for long. */
export const sessionIdleMs = 30 * 60_000

/**
 * Reads the holder of a credential; throws `invalid_api_key` or `invalid_session` unless it is active
 * at that time.
 */
export async function readCaller(look: Look, by: CredentialReference): Promise<Caller> {
  return by.type === 'api_key'
    ? readApiKeyCaller(look, await find(look, by, apiKeys, findApiKeyByDigest))
    : readSessionCaller(look, await find(look, by, sessions, findSessionByDigest))
}

async function find<Found>(
  { db, isLocked }: Look,
  by: CredentialReference,
  table: Record<'find' | 'lock', (db: Db, id: string) => Promise<Found | undefined>>,
  findByDigest: (db: Db, digest: string) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  if ('digest' in by) return findByDigest(db, by.digest)
  return isLocked ? table.lock(db, by.id) : table.find(db, by.id)
}

/**
 * The holder of an API key or, if it belongs to a session, that of the session. Throws `invalid_api_key`
 * unless the API key exists and is active at that time, and also if it is for the successor of a key
 * that is no longer active; throws `invalid_session` if its session has ended.
 */
async function readApiKeyCaller(look: Look, apiKey: ApiKeyRecord | undefined): Promise<Caller> {
  const { db, time } = look
  if (apiKey === undefined || !isActive(apiKey, time)) throw invalidApiKey()
  const { expireTime, sessionId, exchanged, projectId } = apiKey
  if (sessionId !== undefined) {
    const caller = await readCaller(look, { type: 'session', id: sessionId })
    return { ...caller, ...earlierEnd(expireTime, caller.expireTime) }
  }
  const caller = { grants: [grantOf(apiKey)], ...present({ expireTime }), apiKey }
  if (exchanged?.successor === undefined) return caller
  const { ruleId, subject, successor } = exchanged
  const ledgerId = projectId ?? ''
  const keySet = await readKeySet(db, ledgerId)
  const key = findByKid(keySet?.keys ?? [], subject)
  if (keySet === undefined || key === undefined || !isActive(key, time)) throw invalidApiKey()
  return {
    ...caller,
    ...earlierEnd(expireTime, key.expireTime),
    voucher: { keyId: key.id, ruleId, successor, head: { ledgerId, hash: keySet.head } },
  }
}

function earlierEnd(...ends: (string | undefined)[]): Pick<Caller, 'expireTime'> {
  const [expireTime] = ends.filter((end) => end !== undefined).sort()
  return present({ expireTime })
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

/**
 * Checks again, inside the transaction, what the request was admitted on: that its credential still
 * exists, is active and has the role. So no change commits after the revocation of its API key, the
 * end of its session or the removal of an access rule was answered. Returns the caller; a change by the
 * system has none. Throws `invalid_api_key`, `invalid_session` or `insufficient_role`.
 */
export async function requireAuthorization(
  db: Db,
  { authorization }: Origin,
): Promise<Caller | undefined> {
  if (authorization === undefined) return undefined
  const { credential, access, projectId } = authorization
  const caller = await readCaller({ db, time: isoTime(Date.now()), isLocked: true }, credential)
  requireAccess(caller.grants, access, projectId)
  return caller
}

/** The workload that exchanged a token for the API key, for the events of its changes. */
export function workloadOf(
  { id, name }: Pick<ApiKeyRecord, 'id' | 'name'>,
  { ruleId, issuer, subject }: Exchange,
): Actor {
  return { name, apiKeyId: id, workload: { ruleId, issuer, subject } }
}

function grantOf({ role, projectId }: Pick<ApiKeyRecord, 'role' | 'projectId'>): Grant {
  return { role, ...present({ projectId }) }
}

/** What the rules give to a person with these claims. */
export function grantsOf(person: Claimant | undefined, rules: readonly PeopleRule[]): Grant[] {
  return person === undefined ? [] : rulesFor(person, rules).map(grantOf)
}

type Claimant = Pick<NonNullable<SessionRecord['person']>, 'issuer' | 'claims'>

/** The rules that apply to a person with these claims. */
function rulesFor(person: Claimant, rules: readonly PeopleRule[]): PeopleRule[] {
  return rules.filter(
    ({ enabled, contradicted, issuer, conditions }) =>
      enabled &&
      !contradicted &&
      issuer === person.issuer &&
      compareClaims(conditions, person.claims).unmet.length === 0,
  )
}

export function invalidApiKey(): PubringError {
  return new PubringError(
    'invalid_api_key',
    'The API key in the X-Api-Key header is unknown, expired or revoked. Check that it was copied completely.',
  )
}

export function invalidSession(): PubringError {
  return new PubringError(
    'invalid_session',
    'The session has ended, or no access rule gives you a role any more. Sign in again.',
  )
}
