import { PubringError } from '../../errors.ts'
import { present } from '../../runtime/present.ts'
import type { Actor } from '../ledger/chain.ts'
import type { ObservedHead } from '../records.ts'
import type { Grant } from './grants.ts'

/** The holder of a credential, as the store had it at one time. */
export interface Caller {
  grants: readonly Grant[]
  /** ISO 8601; absent if the credential has no end. */
  expireTime?: string
  /** Set if the credential is an API key, or the session of one. */
  apiKey?: CallerApiKey
  /** Set if the credential is a session. */
  session?: CallerSession
  /** Set if that API key was exchanged for a token, for the successor of a key. */
  voucher?: Voucher
}

/** The API key of a caller. */
export interface CallerApiKey {
  id: string
  name: string
  /** SHA-256 of its secret. */
  digest: string
  expireTime?: string
  /** The workload that exchanged a token for it, and the rule. */
  exchanged?: { ruleId: string; issuer: string; subject: string }
}

/** The session of a caller. */
interface CallerSession {
  id: string
  /** ISO 8601, when its holder proved who they are. */
  signInTime?: string
  createTime: string
  person?: { id: string; issuer: string; subject: string }
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

/** The workload that exchanged a token for the API key, for the events of its changes. */
export function workloadOf(
  { id, name }: Pick<CallerApiKey, 'id' | 'name'>,
  { ruleId, issuer, subject }: NonNullable<CallerApiKey['exchanged']>,
): Actor {
  return { name, apiKeyId: id, workload: { ruleId, issuer, subject } }
}

/** The role that an API key or a rule gives. */
export function grantOf({ role, projectId }: Grant): Grant {
  return { role, ...present({ projectId }) }
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
