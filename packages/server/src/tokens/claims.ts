import { isoTime, year10000 } from '../kernel/values/times.ts'
import { type Finding, failed, formatDuration, passed, quote, skipped, warned } from './findings.ts'

type Claims = Readonly<Record<string, unknown>>

/** The last time of a `Date`, in milliseconds. */
const maxDateMs = 8.64e15

/** Code points of a quoted issuer or audience, which is often a URL. */
const maxQuotedUrl = 120
const maxQuotedAudiences = 3

/** How far the clock of a signer may be ahead. One that is behind shortens its tokens. */
export const leewayMs = 60_000

/** The longest that a token by which a key speaks for itself may be valid from now on. */
export const maxProofMs = 5 * 60_000

/** Lower numbers are not the times of tokens: ten years in seconds. */
const maxDuration = 315_360_000

/** NumericDate (RFC 7519 section 2): seconds since the epoch, fractions allowed. */
function isNumericDate(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function timeText(seconds: number): string {
  const ms = Math.max(-maxDateMs, Math.min(maxDateMs, seconds * 1000))
  const isDuration = seconds > 0 && seconds < maxDuration
  const hint = isMilliseconds(seconds)
    ? ' (it must be in seconds; is it in milliseconds?)'
    : isDuration
      ? ' (it must be a time; is it a duration?)'
      : ''
  return `${isoTime(ms)}${hint}`
}

function isMilliseconds(seconds: number): boolean {
  return seconds * 1000 >= year10000
}

/** RFC 7519 section 4.1.4: a token must not be accepted on or after `exp`. */
export function checkExpiry({ exp }: Claims, nowMs: number): Finding {
  if (exp === undefined) {
    return warned('The token has no exp, so it never expires. Some verifiers reject it.')
  }
  if (!isNumericDate(exp)) return failed('exp is not a number of seconds since 1970.')
  const left = exp * 1000 - nowMs
  if (left <= 0) return failed(`It expired at ${timeText(exp)}, ${formatDuration(-left)} ago.`)
  const detail = `It expires at ${timeText(exp)}, in ${formatDuration(left)}.`
  return isMilliseconds(exp) ? warned(detail) : passed(detail)
}

/**
 * RFC 7519 section 4.1.5: a token must not be accepted before `nbf`. Some verifiers also reject a
 * future `iat`, although section 4.1.6 does not ask for it.
 */
export function checkNotBefore({ nbf, iat }: Claims, nowMs: number): Finding {
  if (nbf !== undefined && !isNumericDate(nbf)) {
    return failed('nbf is not a number of seconds since 1970.')
  }
  const early = nbf === undefined ? 0 : nbf * 1000 - nowMs
  if (nbf !== undefined && early > 0) {
    return failed(
      `It is not valid before ${timeText(nbf)}, in ${formatDuration(early)}. Is the signer's clock right?`,
    )
  }
  const warning = issuedAtWarning(iat, nowMs)
  if (warning !== undefined) return warned(warning)
  if (nbf === undefined) return skipped('The token has no nbf.')
  return passed(`It is valid since ${timeText(nbf)}.`)
}

function issuedAtWarning(iat: unknown, nowMs: number): string | undefined {
  if (iat === undefined) return undefined
  if (!isNumericDate(iat)) {
    return 'iat is not a number of seconds since 1970. Some verifiers reject the token.'
  }
  const early = iat * 1000 - nowMs
  if (early <= 0) return undefined
  return `It was issued (iat) at ${timeText(iat)}, ${formatDuration(early)} in the future. Some verifiers, such as PyJWT, reject it until then. Is the signer's clock right?`
}

/** The issuers that `iss` is compared with. */
interface ExpectedIssuer {
  /** The issuer of the project. */
  own: string
  /** The issuer that the request names. */
  requested: string | undefined
}

/** RFC 7519 section 4.1.1: compared code point by code point. */
export function checkIssuer(claims: Claims, { own, requested }: ExpectedIssuer): Finding {
  const { iss } = claims
  const expected = requested ?? own
  const name =
    requested === undefined
      ? `the project's issuer, ${own}`
      : `the expected issuer, ${quote(requested, maxQuotedUrl)}`
  const advice =
    requested === undefined ? ' If your verifiers expect another one, name it in the check.' : ''
  if (iss === undefined) {
    const alias = aliasHint(claims, 'issuer')
    return failed(`The token has no iss.${alias} It must be ${name}.${advice}`)
  }
  if (typeof iss !== 'string') return failed(`iss is not a string. It must be ${name}.`)
  if (iss === expected)
    return passed(
      `The token has ${requested === undefined ? "the project's" : 'the expected'} issuer.`,
    )
  const difference = differenceOf(iss, expected) ?? 'Every character must be the same.'
  return failed(`iss is ${quote(iss, maxQuotedUrl)}, not ${name}. ${difference}${advice}`)
}

/** RFC 7519 section 4.1.3: one string or an array of them. */
export function checkAudience(claims: Claims, expected: string | undefined): Finding {
  const { aud } = claims
  const alias = aud === undefined ? aliasHint(claims, 'audience') : ''
  if (expected === undefined) {
    if (alias !== '') return warned(`The token has no aud.${alias}`)
    return skipped('Not compared: the request has no audience.')
  }
  const name = `the expected audience, ${quote(expected, maxQuotedUrl)}`
  if (aud === undefined) return failed(`The token has no aud.${alias} It must be ${name}.`)
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud]
  if (audiences.includes(expected)) return passed('The token is for the expected audience.')
  const texts = audiences.filter((each) => typeof each === 'string')
  if (texts.length > 0) return failed(describeAudiences(texts, expected, name))
  return failed('aud names no audience: it must be a text or an array of texts.')
}

function describeAudiences(texts: readonly string[], expected: string, name: string): string {
  const similar = texts.find((each) => differenceOf(each, expected) !== undefined)
  const mismatch = (shown: readonly string[]) =>
    `aud is ${shown.map((each) => quote(each, maxQuotedUrl)).join(', ')}, not ${name}.`
  if (similar !== undefined) return `${mismatch([similar])} ${differenceOf(similar, expected)}`
  const isJoined = texts
    .join(' ')
    .split(/[\s,]+/)
    .includes(expected)
  const advice = isJoined
    ? ' Verifiers compare the whole text: several audiences must be an array.'
    : ''
  return `${mismatch(texts.slice(0, maxQuotedAudiences))}${advice}`
}

const registeredNames = { issuer: 'iss', audience: 'aud' } as const

/** A claim that verifiers do not know, in place of the registered one. */
function aliasHint(claims: Claims, name: keyof typeof registeredNames): string {
  if (!Object.hasOwn(claims, name)) return ''
  return ` It has ${name}, which verifiers ignore: the claim is called ${registeredNames[name]}.`
}

/** How two texts differ that are easily mistaken for each other. */
function differenceOf(actual: string, expected: string): string | undefined {
  const withoutSlash = (text: string) => text.replace(/\/$/, '')
  if (withoutSlash(actual) === withoutSlash(expected)) return 'They differ in the final slash.'
  const fold = (text: string) => withoutSlash(text.trim()).toLowerCase()
  if (fold(actual) !== fold(expected)) return undefined
  return actual.trim() === expected.trim()
    ? 'They differ in white space.'
    : 'They differ in upper and lower case.'
}
