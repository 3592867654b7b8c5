import { isoTime, year10000 } from '../times.ts'
import { type Finding, failed, formatDuration, passed, quote } from './findings.ts'

/** The last time of a `Date`, in milliseconds. */
const maxDateMs = 8.64e15

/** NumericDate (RFC 7519 section 2): seconds since the epoch, fractions allowed. */
function isNumericDate(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function timeText(seconds: number): string {
  const ms = Math.max(-maxDateMs, Math.min(maxDateMs, seconds * 1000))
  const hint = ms >= year10000 ? ' (it must be in seconds; is it in milliseconds?)' : ''
  return `${isoTime(ms)}${hint}`
}

/** RFC 7519 section 4.1.4: a token must not be accepted on or after `exp`. */
export function checkExpiry(exp: unknown, nowMs: number): Finding {
  if (exp === undefined) return passed('The token has no exp, so it never expires.')
  if (!isNumericDate(exp)) return failed('exp is not a number of seconds since 1970.')
  const left = exp * 1000 - nowMs
  if (left > 0) return passed(`It expires at ${timeText(exp)}, in ${formatDuration(left)}.`)
  return failed(`It expired at ${timeText(exp)}, ${formatDuration(-left)} ago.`)
}

/** RFC 7519 section 4.1.5: a token must not be accepted before `nbf`. */
export function checkNotBefore(nbf: unknown, nowMs: number): Finding {
  if (nbf === undefined) return passed('The token has no nbf.')
  if (!isNumericDate(nbf)) return failed('nbf is not a number of seconds since 1970.')
  const early = nbf * 1000 - nowMs
  if (early <= 0) return passed(`It is valid since ${timeText(nbf)}.`)
  return failed(
    `It is not valid before ${timeText(nbf)}, in ${formatDuration(early)}. Is the signer's clock right?`,
  )
}

/** RFC 7519 section 4.1.1: compared code point by code point. */
export function checkIssuer(iss: unknown, expected: string | undefined): Finding {
  if (expected === undefined) return passed('Not compared: the request has no issuer.')
  if (iss === undefined) return failed('The token has no iss.')
  if (typeof iss !== 'string') return failed('iss is not a string.')
  if (iss === expected) return passed('The token has the expected issuer.')
  const differsBySlash = iss.replace(/\/$/, '') === expected.replace(/\/$/, '')
  const hint = differsBySlash
    ? 'They differ in the final slash.'
    : 'Every character must be the same.'
  return failed(`iss is ${quote(iss)}, not the expected issuer. ${hint}`)
}

/** RFC 7519 section 4.1.3: one string or an array of them. */
export function checkAudience(aud: unknown, expected: string | undefined): Finding {
  if (expected === undefined) return passed('Not compared: the request has no audience.')
  if (aud === undefined) return failed('The token has no aud.')
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud]
  if (audiences.includes(expected)) return passed('The token is for the expected audience.')
  return failed('The token (aud) is not for the expected audience.')
}
