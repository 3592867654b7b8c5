/** The steps of a sign-in that examine the ID token and the user info. */
import type { OidcConfig } from '../../../kernel/context.ts'
import { isoTime } from '../../../kernel/values/times.ts'
import { OutboundError } from '../../../outbound/outbound.ts'
import { isObject, parseJson } from '../../../runtime/json.ts'
import { checkAudience, checkIssuer } from '../../../tokens/claims.ts'
import { checkForm, type DecodedToken, decodeToken } from '../../../tokens/decode.ts'
import { failed, passed, quote, type Step, skipped, warned } from '../../../tokens/findings.ts'
import type { SignInFinding, SignInStep } from './refusal.ts'
import { type Answer, clockTolerance, type KnownProvider, outboundError } from './steps.ts'

const toleranceMs = clockTolerance * 1_000

type Verify = (token: DecodedToken) => Promise<SignInFinding>

interface Expected {
  config: OidcConfig
  nonce: string
  maxAge: number | undefined
  nowMs: number
  verify: Verify
}

/** OpenID Connect Core 1.0 section 3.1.3.7. */
export function idTokenSteps(
  answer: Answer,
  { config, nonce, maxAge, nowMs, verify }: Expected,
): Step<SignInStep, SignInFinding>[] {
  const { issuer, clientId } = config
  return [
    [
      'well_formed',
      () => {
        const token = decodeToken(answer.idToken ?? '')
        if ('fault' in token) return failed(token.fault)
        answer.token = token
        answer.claims = token.claims
        return checkForm(token)
      },
    ],
    ['iss', () => checkIssuer(answer.claims, { own: issuer, requested: issuer })],
    ['aud', () => checkClient(answer.claims, clientId)],
    [
      'signature',
      () => (answer.token === undefined ? failed('There is no token.') : verify(answer.token)),
    ],
    ['clock', () => checkClock(answer.claims, nowMs)],
    [
      'nonce',
      () =>
        answer.claims.nonce === nonce
          ? passed('The token is of this sign-in.')
          : failed('The nonce is not that of this sign-in.'),
    ],
    ['auth_time', () => checkAuthenticationTime(answer.claims, maxAge, nowMs)],
  ]
}

/** A token for several clients must have been issued to this one. */
function checkClient(claims: Answer['claims'], clientId: string): SignInFinding {
  if (typeof claims.sub !== 'string' || claims.sub === '') return failed('The token has no sub.')
  const { aud, azp } = claims
  const isShared = Array.isArray(aud) && aud.length > 1
  if ((azp !== undefined || isShared) && azp !== clientId) {
    const issued = typeof azp === 'string' ? `azp is ${quote(azp, 120)}` : 'The token has no azp'
    return failed(`${issued}, not the client id ${quote(clientId, 120)}.`)
  }
  return checkAudience(claims, clientId)
}

/** The provider issued the token a moment ago, so `iat` tells how far its clock is from this one. */
function checkClock({ iat, exp, nbf }: Answer['claims'], nowMs: number): SignInFinding {
  if (typeof exp !== 'number' || typeof iat !== 'number') {
    return failed('The token has no exp or no iat, or one is not a number of seconds since 1970.')
  }
  if (nbf !== undefined && typeof nbf !== 'number') {
    return failed('nbf is not a number of seconds since 1970.')
  }
  const aheadMs = Math.max(iat, nbf ?? iat) * 1_000 - nowMs
  if (aheadMs > toleranceMs) return shown(describeClock(aheadMs))
  const behindMs = nowMs - iat * 1_000
  if (exp * 1_000 + toleranceMs <= nowMs) {
    const end = isoTime(Math.max(0, exp) * 1_000)
    return shown(
      `The ID token expired at ${end}. ${describeClock(-behindMs)} Or the provider sent an old token.`,
    )
  }
  if (behindMs > toleranceMs) return warned(describeClock(-behindMs))
  return passed('The token is valid now.')
}

/** Compares the clocks by the time of a response, which a cache may have kept for its `Age`. */
export function compareClocks(headers: Headers, nowMs: number): SignInFinding {
  const age = Number(headers.get('age')) || 0
  const aheadMs = Date.parse(headers.get('date') ?? '') + age * 1_000 - nowMs
  if (Number.isNaN(aheadMs)) return skipped('The provider does not say what time it is.')
  return Math.abs(aheadMs) > toleranceMs
    ? warned(describeClock(aheadMs))
    : passed('The clocks agree.')
}

function describeClock(aheadMs: number): string {
  const distance = `${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`
  return `The clock of the OpenID provider is ${distance} that of this server, more than the ${clockTolerance} s that are allowed. Synchronize both with NTP.`
}

/** OpenID Connect Core 1.0 section 3.1.2.1: required if `max_age` was requested. */
function checkAuthenticationTime(
  { auth_time: time }: Answer['claims'],
  maxAge: number | undefined,
  nowMs: number,
): SignInFinding {
  if (time !== undefined && (typeof time !== 'number' || !(time >= 0))) {
    return failed('auth_time is not a number of seconds since 1970.')
  }
  if (maxAge === undefined)
    return skipped('It does not matter when the person proved who they are.')
  if (time === undefined) {
    return shown(
      'The OpenID provider does not say when you signed in there (its ID token has no auth_time), so a recent sign-in cannot be confirmed. Have it send auth_time when max_age is requested.',
    )
  }
  const age = Math.round(nowMs / 1_000 - time)
  if (age < maxAge) return passed('The person has just proved who they are.')
  return shown(
    `The OpenID provider says that you signed in there ${age} s ago, more than the ${maxAge} s that are allowed. Sign out there, and try again.`,
  )
}

/** A refusal that the person may read. */
function shown(text: string): SignInFinding {
  return { ...failed(text), shown: text }
}

/**
 * Adds the claims of the user info (OpenID Connect Core 1.0 section 5.3). Without it, those of the ID
 * token count alone; that of another person is refused.
 */
export async function readUserInfo(
  { context, metadata }: KnownProvider,
  answer: Answer,
  verify: Verify,
): Promise<SignInFinding> {
  const { userinfo_endpoint: endpoint } = metadata.document
  if (typeof endpoint !== 'string') return skipped('The provider has no user info.')
  const headers = { authorization: `Bearer ${answer.accessToken}`, accept: 'application/json' }
  const response = await context.fetch(endpoint, { headers }).catch(outboundError)
  const without = (reason: string) =>
    warned(`The claims of the user info are missing: ${endpoint} ${reason}.`)
  if (response instanceof OutboundError) return without(`failed (${response.message})`)
  if (response.status !== 200) return without(`responded with the status ${response.status}`)
  const text = await response.text()
  const isSigned = /^application\/jwt\b/i.test(response.headers.get('content-type') ?? '')
  const token = isSigned ? decodeToken(text) : undefined
  if (token !== undefined && 'fault' in token)
    return without(`sent a JWT that is not one: ${token.fault}`)
  const signature = token === undefined ? skipped('') : await verify(token)
  if (signature.outcome === 'failed') return without(`sent a JWT: ${signature.detail}`)
  const claims = token?.claims ?? parseJson(text)
  if (!isObject(claims)) return without('sent no JSON object')
  if (claims.sub !== answer.claims.sub) {
    return failed(
      `The user info is of ${quote(String(claims.sub))}, not of the subject of the ID token.`,
    )
  }
  answer[isSigned ? 'signedMore' : 'more'] = claims
  if (!isSigned && 'email' in claims && !('email' in answer.claims)) {
    return warned(
      'The email of the user info does not count, because no signature protects it: have the provider put email and email_verified into the ID token.',
    )
  }
  return passed(isSigned ? 'It has signed claims.' : 'It has claims.')
}

/**
 * The claims of a person: those of the ID token decide, and the user info fills in what they lack. An
 * email counts only under a signature, and with the email_verified beside it.
 */
export function claimsOf({ claims, more, signedMore }: Answer): Record<string, unknown> {
  const { email, email_verified } = 'email' in claims ? claims : signedMore
  const all = { ...more, ...signedMore, ...claims, email, email_verified }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}
