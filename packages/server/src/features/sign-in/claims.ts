import { PubringError } from '../../errors.ts'
import { redact } from '../../kernel/exposure/redaction.ts'
import { newId } from '../../kernel/values/ids.ts'
import { containsPrivateKey, parseLabel, plainFault } from '../../kernel/values/labels.ts'
import { isObject } from '../../runtime/json.ts'
import { present } from '../../runtime/present.ts'
import { quote } from '../../tokens/findings.ts'
import type { Identity } from './provider/provider.ts'
import type { PersonRecord } from './stored.ts'

/** The most characters of the claims that are stored with a session, as JSON. */
const maxClaimsLength = 16_384

/** Missing claims that are named. */
const maxNamed = 5

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
  const fault = plainFault(subject)
  if (fault !== undefined) {
    throw failure(`The OpenID provider sent a subject (sub) that cannot be stored: it ${fault}`)
  }
  const { length } = JSON.stringify(stored)
  if (length > maxClaimsLength) {
    throw failure(
      `The OpenID provider sent claims of ${length} characters; at most ${maxClaimsLength} can be stored. Have it send fewer, such as only the groups that matter here.`,
    )
  }
  return stored
}

/** Why claims may be missing, or not count, for a person to whom no rule gives a role. */
export function claimNotes({ claims }: Identity): string[] {
  const { email, email_verified: verified } = claims
  const notes = leftOut(claims).map(
    (name) =>
      `The OpenID provider left out the claim ${quote(name)}, because the person has too many values for a token: have it send only those that matter here (at Entra: the groups assigned to the application, or app roles).`,
  )
  if (email === undefined || verified === true || verified === 'true') return notes
  const state = verified === undefined ? 'is missing' : `is ${quote(JSON.stringify(verified))}`
  return [...notes, `The email does not count: email_verified ${state}, and must be true.`]
}

/**
 * Names the claims that access rules compare and the person lacks. Only for the log: the person may be a
 * stranger, who must not learn what to claim.
 */
export function missingClaimNotes({ claims }: Identity, missing: readonly string[]): string[] {
  const left = leftOut(claims)
  const unsent = missing.filter((name) => name !== 'email_verified' && !left.includes(name))
  if (unsent.length === 0) return []
  const names = unsent.slice(0, maxNamed).map((name) => quote(name, 120))
  return [
    `Access rules here compare claims that are missing (${names.join(', ')}): have the OpenID provider send them, perhaps by another scope in PUBRING_OIDC_SCOPES.`,
  ]
}

/** The claims that the provider left out of the token because they are too long. */
function leftOut({ _claim_names: named, hasgroups }: Identity['claims']): string[] {
  return isObject(named) ? Object.keys(named) : hasgroups ? ['groups'] : []
}

/** `stored`: those of the claims that may be. */
export function toPerson(
  { issuer, subject, claims }: Identity,
  stored: Record<string, unknown>,
  time: string,
): PersonRecord {
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
    claims: stored,
    firstSignInTime: time,
    lastSignInTime: time,
  }
}

export function failure(detail: string, cause?: unknown): PubringError {
  return new PubringError('sign_in_failed', detail, {}, cause)
}
