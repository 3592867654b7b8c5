import type { OutboundError } from '../../../outbound/outbound.ts'
import type { Finding } from '../../../tokens/findings.ts'

/** The steps of a sign-in, in order; none is run after one that fails. */
export type SignInStep =
  | 'discovery'
  | 'response'
  | 'token'
  | 'well_formed'
  | 'iss'
  | 'aud'
  | 'signature'
  | 'clock'
  | 'nonce'
  | 'auth_time'
  | 'user_info'

export interface SignInFinding extends Finding {
  /** A sentence for the person; the detail is for those who run the server. */
  shown?: string
  /** Set if the provider could not be reached, or its answer not be used. */
  error?: OutboundError
}

/** A sign-in that a step has refused. The message is for the log. */
export class SignInRefusal extends Error {
  override readonly name = 'SignInRefusal'
  readonly step: SignInStep
  readonly finding: SignInFinding

  constructor(step: SignInStep, finding: SignInFinding) {
    super(`${step}: ${finding.detail}`)
    this.step = step
    this.finding = finding
  }
}
