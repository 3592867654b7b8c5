import type { Intake } from '../../intake/pool.ts'
import type { Origin } from '../changes.ts'
import type { Context } from '../context.ts'
import type { Hooks } from '../hooks.ts'
import type { Actor } from '../ledger/chain.ts'
import type { Validity } from '../values/validity.ts'
import type { CallerLink, Voucher } from './callers.ts'
import type { Credential, Grant } from './grants.ts'

/** The person, API key or registration link that a credential belongs to. */
export type Holder = Identity | { apiKeyId: string } | { linkId: string }

/** Who a person is to the OpenID provider. */
export interface Identity {
  issuer: string
  subject: string
}

/** The caller of a request. */
export interface Principal {
  credential: Credential
  holder: Holder
  /** Shares and rate limits count by it. */
  callerId: string
  /** The actor in the events of its changes. */
  actor: Actor
  grants: readonly Grant[]
  /** Set if the credential is a session, or an API key of one. */
  session?: { signInTime?: string }
  /** Set if the credential is an API key for the successor of a key. */
  voucher?: Voucher
  /** Set if the credential is the session of a registration link. */
  link?: CallerLink
  /** Lasts until the credential changes or expires. */
  validity: Validity
}

/** The context of one request. */
export interface RequestContext extends Context {
  /** Runs what other features do in the same request. */
  hooks: Hooks
  principal: Principal
  /** Where a change of this request comes from, for its event. */
  origin: Origin
  /** Checks keys in the caller's turn, and stops when the caller disconnects. */
  intake: Intake
}
