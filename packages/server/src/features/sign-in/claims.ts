import { PubringError } from '../../errors.ts'
import { redact } from '../../kernel/exposure/redaction.ts'
import { newId } from '../../kernel/values/ids.ts'
import { containsPrivateKey, parseLabel } from '../../kernel/values/labels.ts'
import { present } from '../../runtime/present.ts'
import { isPlain } from '../access-rules/conditions.ts'
import type { Identity } from './provider.ts'
import type { PersonRecord } from './stored.ts'

/** The most characters of the claims that are stored with a session, as JSON. */
const maxClaimsLength = 16_384

/** Claims about the exchange and the token, which no rule needs. */
const protocolClaims =
  /^(?:nonce|at_hash|c_hash|s_hash|exp|iat|nbf|jti|sid|auth_time|_claim_names|_claim_sources)$/

/** The claims that rules may compare, without any that hold a secret. Throws `sign_in_failed`. */
export function storedClaims({ subject, claims }: Identity): Record<string, unknown> {
  const entries = Object.entries(claims).filter(([name, value]) => {
    const text = JSON.stringify(value) ?? ''
    return !protocolClaims.test(name) && redact(text) === text && !containsPrivateKey(text)
  })
  const stored = Object.fromEntries(entries)
  if (!isPlain(subject) || JSON.stringify(stored).length > maxClaimsLength) {
    throw failure(
      `The OpenID provider sent claims that cannot be stored: more than ${maxClaimsLength} characters, or an unusual subject. Have it send fewer, such as only the groups that matter here.`,
    )
  }
  return stored
}

export function toPerson({ issuer, subject, claims }: Identity, time: string): PersonRecord {
  const labelOf = (value: unknown) => {
    try {
      return typeof value === 'string' ? parseLabel(value, '/name') : undefined
    } catch {
      return undefined
    }
  }
  const name = labelOf(claims.name) ?? labelOf(claims.preferred_username)
  const email = labelOf(claims.email)
  return {
    id: newId(),
    issuer,
    subject,
    ...present({ name, email }),
    firstSignInTime: time,
    lastSignInTime: time,
  }
}

export function failure(detail: string, cause?: unknown): PubringError {
  return new PubringError('sign_in_failed', detail, {}, cause)
}

export function usedLogoutToken(): PubringError {
  return new PubringError('sign_in_failed', 'The logout token was used before.')
}
