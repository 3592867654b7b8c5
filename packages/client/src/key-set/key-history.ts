import { type Bytes, fromBase64url, utf8 } from '../log/encoding.ts'
import type { KeyHistory, TokenCheckReason } from '../types.ts'
import { importKey, isSignature, type VerifyKey } from './import.ts'

/** Whether a token would have verified at a time; `reason` and `detail` say why not. */
export type PastVerdict =
  | {
      valid: true
      claims: Record<string, unknown>
      /**
       * Whether the key is compromised: then the verdict holds only if you know from elsewhere than the token
       * that the token existed at the time.
       */
      restsOnTime: boolean
    }
  | { valid: false; reason: TokenCheckReason; detail: string }

export type PastOptions = {
  /** The `iss` of the token; by default the issuer of the project. */
  issuer?: string
  /** If present, `aud` must be or contain it. */
  audience?: string
}

export type PastKeySet = {
  /**
   * Whether the token would have verified at the time, or with `iat` at the time at which it says that it
   * was issued. A thief can date a token back, so a compromised key is valid at no time by `iat`. Throws
   * `algorithm_unsupported`.
   */
  verifyAt(token: string, time: Date | 'iat', options?: PastOptions): Promise<PastVerdict>
}

type HistoryKey = KeyHistory['keys'][number]

/**
 * Verifies tokens of the past by a key history. The history is trusted: fetch it from the server, or compare
 * the `head` of a copy with the log. A copy knows nothing of the time after it was fetched.
 *
 * @example
 * const history = pastKeySet(await client.jwks.history('payments'))
 * const verdict = await history.verifyAt(token, new Date('2026-03-01T12:00:00Z'))
 */
export function pastKeySet({ iss, keys, deleted }: KeyHistory): PastKeySet {
  const byKid = new Map(keys.map((key) => [key.kid, key]))
  const imported = new Map<string, Promise<VerifyKey>>()

  async function isSigned(key: HistoryKey, { input, signature }: DecodedToken): Promise<boolean> {
    const verifyKey = imported.get(key.kid) ?? importKey(key)
    imported.set(key.kid, verifyKey)
    return isSignature(await verifyKey, key.alg, signature, input)
  }

  return {
    async verifyAt(text, time, { issuer = iss, audience } = {}) {
      const token = decode(text)
      if (token === undefined) return invalid('malformed_token', 'It is not a JWT of three parts.')
      const { header, claims } = token
      const { kid } = header
      if (typeof kid !== 'string' || kid === '') return invalid('kid_missing', 'It has no kid.')
      const key = byKid.get(kid)
      if (key === undefined) return unknown(deleted.find((each) => each.kid === kid))
      const at = time === 'iat' ? claims.iat : time.getTime() / 1_000
      const fault = inactivity(key, at, time === 'iat')
      if (fault !== undefined) return invalid('key_inactive', fault)
      if (header.alg !== key.alg) {
        return invalid('algorithm_mismatch', `The key verifies only ${key.alg}.`)
      }
      if (!(await isSigned(key, token))) {
        return invalid('signature_invalid', 'The key did not sign it.')
      }
      const restsOnTime = key.revoked?.reason === 'compromised'
      const refused = checkClaims(claims, Number(at), { issuer, audience })
      return refused ?? { valid: true, claims, restsOnTime }
    },
  }
}

function invalid(reason: TokenCheckReason, detail: string): PastVerdict {
  return { valid: false, reason, detail }
}

function unknown(deleted: KeyHistory['deleted'][number] | undefined): PastVerdict {
  const detail =
    deleted === undefined
      ? 'No key with this kid was ever active in the project.'
      : `The key was deleted, and with it what verifies its signatures. Its thumbprint was ${deleted.thumbprint}.`
  return invalid('kid_unknown', detail)
}

/** Why the key must not be trusted at the time, in seconds; undefined if it is to be. */
function inactivity(key: HistoryKey, at: unknown, isIat: boolean): string | undefined {
  if (typeof at !== 'number' || !Number.isFinite(at))
    return 'The token has no iat, or the time is none.'
  if (at * 1_000 > Date.now()) return 'The time lies in the future.'
  const { active_from, exp = Number.POSITIVE_INFINITY, inactive = [] } = key
  const isActive =
    active_from <= at && at < exp && !inactive.some(({ from, until }) => from <= at && at < until)
  if (!isActive) return 'The key was not active at that time.'
  if (!isIat || key.revoked?.reason !== 'compromised') return undefined
  return 'The key is compromised, and a thief can write any iat. Verify at a time that you know from elsewhere.'
}

/** RFC 7519 section 4.1, without leeway. */
function checkClaims(
  { exp, nbf, iss, aud }: Record<string, unknown>,
  at: number,
  { issuer, audience }: { issuer: string; audience: string | undefined },
): PastVerdict | undefined {
  if (exp !== undefined && !(typeof exp === 'number' && at < exp)) {
    return invalid('token_expired', 'It had expired at that time.')
  }
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= at)) {
    return invalid('token_not_yet_valid', 'It was not valid yet at that time.')
  }
  if (iss !== issuer) return invalid('issuer_mismatch', `Its iss is not ${issuer}.`)
  if (audience === undefined || [aud].flat().includes(audience)) return undefined
  return invalid('audience_mismatch', `Its aud does not contain ${audience}.`)
}

type DecodedToken = {
  header: Record<string, unknown>
  claims: Record<string, unknown>
  input: Bytes
  signature: Bytes
}

/** Undefined unless it is a JWT in compact serialization, without critical members (RFC 7515). */
function decode(text: string): DecodedToken | undefined {
  const [head = '', body = '', tail = '', ...more] = text.split('.')
  const [header, claims, signature] = [objectIn(head), objectIn(body), fromBase64url(tail)]
  if (more.length > 0 || !header || !claims || !signature || 'crit' in header) return undefined
  return { header, claims, input: utf8(`${head}.${body}`), signature }
}

function objectIn(part: string): Record<string, unknown> | undefined {
  const bytes = fromBase64url(part)
  try {
    const value = bytes && JSON.parse(new TextDecoder().decode(bytes))
    return typeof value === 'object' && !Array.isArray(value) ? (value ?? undefined) : undefined
  } catch {
    return undefined
  }
}
