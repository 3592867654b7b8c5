import { invalidField } from '../../errors.ts'
import { isoTime, parseTime } from '../../kernel/values/times.ts'
import type { decodeToken } from '../../tokens/decode.ts'
import { type Finding, failed, passed, warned } from '../../tokens/findings.ts'
import { type KeyLife, wasActiveAt } from '../key-history/history.ts'

/** The time of a check in the past. */
interface PastTime {
  /** Epoch milliseconds; undefined if the token names no time. */
  ms: number | undefined
  /** Whether the caller named it, and not the token by its `iat`. */
  isOfCaller: boolean
}

/** Reads `at`, an RFC 3339 time or `iat`. Throws `invalid_request`. */
export function parsePastTime(
  at: string,
  token: ReturnType<typeof decodeToken>,
  nowMs: number,
): PastTime {
  if (at === 'iat') {
    const iat = 'fault' in token ? undefined : token.claims.iat
    const isPast = typeof iat === 'number' && iat >= 0 && iat * 1_000 <= nowMs
    return { ms: isPast ? iat * 1_000 : undefined, isOfCaller: false }
  }
  const ms = Date.parse(parseTime(at, 'at'))
  if (ms <= nowMs) return { ms, isOfCaller: true }
  throw invalidField(
    '/at',
    'time_future',
    'at must not lie in the future. Leave it out to check now.',
  )
}

/**
 * Whether the key was active at the time. If it is compromised, it was so at no time that a token names:
 * who has the private key can date tokens back.
 */
export function checkActiveThen(
  { ms, isOfCaller }: PastTime,
  spans: KeyLife['spans'],
  isCompromised: boolean,
): Finding {
  if (ms === undefined) {
    return failed(
      'The token has no iat in the past. Send the time at which you know that it existed.',
    )
  }
  const time = isoTime(ms)
  if (!wasActiveAt(spans, time)) {
    return failed(`The key was not active at ${time}. ${describeSpans(spans)}`)
  }
  if (!isCompromised) return passed(`The key was active at ${time}.`)
  return isOfCaller
    ? warned(
        `The key was active at ${time}, but it is compromised. The answer rests on your time: it holds if you know from elsewhere than the token that the token existed then.`,
      )
    : failed(
        'The key is compromised, and a thief can write any iat. If you know from elsewhere when the token existed, send that time.',
      )
}

/** Names the last times at which the key was active. */
function describeSpans(spans: KeyLife['spans']): string {
  const named = spans
    .slice(-3)
    .map(({ from, until }) => (until === undefined ? `since ${from}` : `from ${from} to ${until}`))
  return named.length === 0 ? 'It never was.' : `It was last active ${named.join(', ')}.`
}

/** The deleted key with this kid, with when it was active; undefined if there was none. */
export function describeDeleted(
  lives: ReadonlyMap<string, KeyLife>,
  kid: unknown,
): string | undefined {
  const life = lives.values().find(({ id, members }) => (members.publishedKid ?? id) === kid)
  if (life?.deleteTime === undefined) return undefined
  return `The key was deleted at ${life.deleteTime}, and with it what verifies its signatures. ${describeSpans(life.spans)} Its thumbprint was ${life.members.thumbprint}.`
}
