import { isoTime } from '../times.ts'
import { type Finding, failed, passed, quoted, span } from './findings.ts'

/** The last moment that a `Date` can name, in milliseconds. */
const endOfTime = 8.64e15

/** Milliseconds of 1 January 10000: a time after it was most likely not given in seconds. */
const farFuture = 253_402_300_800_000

/** NumericDate (RFC 7519 section 2): seconds since the epoch, fractions allowed. */
function isNumericDate(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function timeText(seconds: number): string {
  const ms = Math.max(-endOfTime, Math.min(endOfTime, seconds * 1000))
  const doubt = ms >= farFuture ? ' (it must be in seconds; is it in milliseconds?)' : ''
  return `${isoTime(ms)}${doubt}`
}

/** RFC 7519 section 4.1.4: not to be accepted on or after `exp`. */
export function findExpiry(exp: unknown, nowMs: number): Finding {
  if (exp === undefined) return passed('There is no exp: the token never expires.')
  if (!isNumericDate(exp)) return failed('exp is not a number of seconds since 1970.')
  const left = exp * 1000 - nowMs
  if (left > 0) return passed(`It expires at ${timeText(exp)}, in ${span(left)}.`)
  return failed(`It expired at ${timeText(exp)}, ${span(-left)} ago.`)
}

/** RFC 7519 section 4.1.5: not to be accepted before `nbf`. */
export function findNotBefore(nbf: unknown, nowMs: number): Finding {
  if (nbf === undefined) return passed('There is no nbf.')
  if (!isNumericDate(nbf)) return failed('nbf is not a number of seconds since 1970.')
  const early = nbf * 1000 - nowMs
  if (early <= 0) return passed(`It is valid since ${timeText(nbf)}.`)
  return failed(
    `It is not valid before ${timeText(nbf)}, in ${span(early)}. Does the signer's clock go right?`,
  )
}

/** RFC 7519 section 4.1.1: compared code point by code point. */
export function findIssuer(iss: unknown, wanted: string | undefined): Finding {
  if (wanted === undefined) return passed('Not compared: no issuer was given.')
  if (iss === undefined) return failed('The token has no iss.')
  if (typeof iss !== 'string') return failed('iss is not a string.')
  if (iss === wanted) return passed('The issuer is the one wanted.')
  const slash = iss.replace(/\/$/, '') === wanted.replace(/\/$/, '')
  const hint = slash ? 'They differ by the final slash.' : 'It must be equal to the letter.'
  return failed(`iss is ${quoted(iss)}, not the one wanted. ${hint}`)
}

/** RFC 7519 section 4.1.3: one string or an array of them. */
export function findAudience(aud: unknown, wanted: string | undefined): Finding {
  if (wanted === undefined) return passed('Not compared: no audience was given.')
  if (aud === undefined) return failed('The token has no aud.')
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud]
  if (audiences.includes(wanted)) return passed('The audience is among those of the token.')
  return failed('The audience that was given is not among those of the token (aud).')
}
