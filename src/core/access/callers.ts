import { PubringError } from '../../errors.ts'
import { present } from '../../runtime/present.ts'
import { compareClaims } from '../access-rules/conditions.ts'
import type { Store } from '../context.ts'
import { isActive } from '../expiry.ts'
import { findByKid } from '../keys/kids.ts'
import type { Actor } from '../ledger/chain.ts'
import type {
  ApiKeyRecord,
  ExchangedKeyRecord,
  ObservedHead,
  SessionRecord,
  SignInRuleRecord,
  WorkloadKeyRecord,
} from '../records.ts'
import { isoTime } from '../times.ts'
import type { Credential, Grant } from './grants.ts'

/** The holder of a credential, as the store had it at one time. */
export interface Caller {
  grants: readonly Grant[]
  /** ISO 8601; absent if the credential has no end. */
  expireTime?: string
  /** Set if the credential is an API key, or the session of one. */
  apiKey?: ApiKeyRecord
  /** Set if the credential is a session. */
  session?: SessionRecord
  /** Set if the credential is an API key that was exchanged for a token. */
  workload?: WorkloadKeyRecord
  /** Set if that API key is for the successor of a key. */
  voucher?: Voucher
}

/** A key that vouches for another one, which its API key may register. */
export interface Voucher {
  keyId: string
  ruleId: string
  /** RFC 7638 thumbprint. */
  successor: string
  /** Of the project, when the key was seen active. */
  head: ObservedHead
}

/** Reads from the store, or within a transaction. */
export type CallerReads = Pick<
  Store,
  'findApiKey' | 'findExchangedKey' | 'findSession' | 'signInRules' | 'keySet'
>

/** Milliseconds after which an unused session ends: a browser that was left has no rights for long. */
export const sessionIdleMs = 30 * 60_000

/**
 * Reads the holder of a credential; throws `invalid_api_key` or `invalid_session` unless it is active
 * at that time (ISO 8601).
 */
export async function readCaller(
  reads: CallerReads,
  { type, id }: Credential,
  time: string,
): Promise<Caller> {
  if (type === 'api_key') return callerOf(await reads.findApiKey(id), time)
  if (type === 'exchanged_key') {
    return readExchangedKeyCaller(reads, await reads.findExchangedKey(id), time)
  }
  return readSessionCaller(reads, await reads.findSession(id), time)
}

/** The holder of an API key; throws `invalid_api_key` unless it exists and is active at that time. */
export function callerOf(apiKey: ApiKeyRecord | undefined, time: string): Caller {
  if (apiKey === undefined || !isActive(apiKey, time)) throw invalidApiKey()
  const { expireTime } = apiKey
  return {
    grants: [grantOf(apiKey)],
    ...present({ expireTime }),
    apiKey,
  }
}

/**
 * The holder of a session: the API key that signed in, or a person with the roles that the rules give
 * them now. Throws `invalid_session` if the session has ended, or gives no role any more.
 */
export async function readSessionCaller(
  reads: Pick<CallerReads, 'findApiKey' | 'signInRules'>,
  session: SessionRecord | undefined,
  time: string,
): Promise<Caller> {
  if (session === undefined || session.contradicted) throw invalidSession()
  const { apiKeyId, person } = session
  const apiKey = apiKeyId === undefined ? undefined : await reads.findApiKey(apiKeyId)
  const ends = [sessionEnd(session), apiKey?.expireTime ?? []].flat()
  const [expireTime = ''] = ends.sort()
  const isUsable =
    expireTime > time &&
    (apiKeyId === undefined || (apiKey !== undefined && isActive(apiKey, time)))
  const rules = person === undefined ? [] : await reads.signInRules()
  const grants = apiKey === undefined ? grantsOf(person, rules) : [grantOf(apiKey)]
  if (!isUsable || grants.length === 0) throw invalidSession()
  return { grants, expireTime, session, ...present({ apiKey }) }
}

function sessionEnd({ expireTime, lastUseTime }: SessionRecord): string {
  const idleEnd = isoTime(Date.parse(lastUseTime) + sessionIdleMs)
  return idleEnd < expireTime ? idleEnd : expireTime
}

/**
 * The workload that exchanged a token for an API key, which is deleted when its access rule changes. Throws
 * `invalid_api_key` also if the key that vouches for a successor is no longer active.
 */
async function readWorkloadCaller(
  reads: Pick<CallerReads, 'keySet'>,
  workload: WorkloadKeyRecord,
  time: string,
): Promise<Caller> {
  const { expireTime, successor, subject, ruleId, projectId: ledgerId = '' } = workload
  const caller = { grants: [grantOf(workload)], expireTime, workload }
  if (successor === undefined) return caller
  const keySet = await reads.keySet(ledgerId)
  const key = findByKid(keySet?.keys ?? [], subject)
  if (keySet === undefined || key === undefined || !isActive(key, time)) throw invalidApiKey()
  const [end = expireTime] = [expireTime, key.expireTime ?? []].flat().sort()
  return {
    ...caller,
    expireTime: end,
    voucher: { keyId: key.id, ruleId, successor, head: { ledgerId, hash: keySet.head } },
  }
}

/**
 * The workload or, for an API key of a session, its holder. Throws `invalid_api_key` or
 * `invalid_session`.
 */
export async function readExchangedKeyCaller(
  reads: CallerReads,
  key: ExchangedKeyRecord | undefined,
  time: string,
): Promise<Caller> {
  if (key === undefined || key.expireTime <= time) throw invalidApiKey()
  if (key.role !== 'session') return readWorkloadCaller(reads, key, time)
  const session = await reads.findSession(key.ruleId)
  const caller = await readSessionCaller(reads, session, time)
  const [end = key.expireTime] = [key.expireTime, caller.expireTime ?? []].flat().sort()
  return { ...caller, expireTime: end }
}

/** For the events of its changes. */
export function workloadOf(key: WorkloadKeyRecord): Actor {
  const { id, name, ruleId, issuer, subject } = key
  return { name, apiKeyId: id, workload: { ruleId, issuer, subject } }
}

export function grantOf({ role, projectId }: Pick<ApiKeyRecord, 'role' | 'projectId'>): Grant {
  return { role, ...present({ projectId }) }
}

/** What the rules give to a person with these claims. */
export function grantsOf(
  person: Claimant | undefined,
  rules: readonly SignInRuleRecord[],
): Grant[] {
  return person === undefined ? [] : rulesFor(person, rules).map(grantOf)
}

type Claimant = Pick<NonNullable<SessionRecord['person']>, 'issuer' | 'claims'>

/** The rules that apply to a person with these claims. */
export function rulesFor(person: Claimant, rules: readonly SignInRuleRecord[]): SignInRuleRecord[] {
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
    'The session has ended, or no sign-in rule gives you a role any more. Sign in again.',
  )
}
