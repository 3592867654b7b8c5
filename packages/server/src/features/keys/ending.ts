import { parseProjectRef } from '../../kernel/access/projects.ts'
import { notFound } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { tokenDigest } from '../../kernel/ledger/token-uses.ts'
import { isoTime, parseTimeMs, year10000 } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { checkAudience, checkExpiry, checkIssuer, checkNotBefore } from '../../tokens/claims.ts'
import { checkForm, type DecodedToken, decodeToken } from '../../tokens/decode.ts'
import { failed, passed } from '../../tokens/findings.ts'
import { verifies } from '../../tokens/signatures.ts'
import { invalidProof, keyChanges } from './changes.ts'
import { endReasons, type JwtKeyEnded } from './contract.ts'
import { issuerOf } from './jwks.ts'
import { keySetOf } from './key-sets.ts'
import { endType, findByKid } from './kids.ts'
import type { KeyRecord } from './stored.ts'

/** The longest that such a token may be valid from now on. */
const maxProofMs = 5 * 60_000

/** How far the clock of a signer may be ahead. */
const leewayMs = 60_000

interface EndRequest {
  project: string
  kid: string
  token: string
  requestId: string
}

/**
 * Sets the end of the key, or brings it nearer, by a token that the key itself signed. It may be inactive.
 * Throws `key_not_found`, also for a project that does not exist, or `invalid_proof`.
 */
export async function endKey(
  kernel: Kernel,
  { project, kid, token: text, requestId }: EndRequest,
): Promise<JwtKeyEnded> {
  const { store, clock, config } = kernel
  const found = await store.identifyProject(parseProjectRef(project))
  const keySet = found && (await keySetOf(store, found.id))
  const key = keySet && findByKid(keySet.keys, kid)
  if (key === undefined) throw notFound('key_not_found')
  const token = decodeToken(text)
  if ('fault' in token) throw invalidProof(token.fault)
  const nowMs = clock.now()
  const issuer = issuerOf(config.publicUrl, key.projectId)
  await requireProof(token, key, { issuer, audience: config.publicUrl, nowMs })
  const { jti, expireTime, reason } = token.claims
  const end = await store.commit(keyChanges.endKey, {
    origin: { actor: { name: key.label, jwtKeyId: key.id }, requestId, time: isoTime(nowMs) },
    projectId: key.projectId,
    kid: key.id,
    expireTime: isoTime(endMs(expireTime) ?? nowMs),
    ...present({ reason: knownReason(reason) }),
    once: tokenDigest(issuer, String(jti)),
  })
  return { kid: key.id, expireTime: end }
}

const knownReason = (reason: unknown) => endReasons.find((each) => each === reason)

function endMs(expireTime: unknown): number | undefined {
  const ms = typeof expireTime === 'string' ? parseTimeMs(expireTime) : undefined
  return ms === undefined || ms >= year10000 ? undefined : ms
}

/** Throws `invalid_proof` unless the key signed the token, a moment ago and for an end of this key. */
async function requireProof(
  token: DecodedToken,
  key: KeyRecord,
  { issuer, audience, nowMs }: { issuer: string; audience: string; nowMs: number },
): Promise<void> {
  const { header, claims } = token
  const check = (holds: boolean, fault: string) => (holds ? passed('') : failed(fault))
  const { jti, sub, exp, reason } = claims
  const findings = [
    checkForm(token),
    check(header.typ === endType, `The typ in the header is not ${endType}.`),
    check(await verifies(token, key), `It does not verify the signature by ${key.jwsAlgorithm}.`),
    checkIssuer(claims, { own: issuer, requested: undefined }),
    checkAudience(claims, audience),
    check(findByKid([key], String(sub)) === key, 'sub is not the kid of the key.'),
    checkExpiry(claims, nowMs),
    check(Number(exp) * 1_000 <= nowMs + maxProofMs, 'exp must be set, at most 5 minutes ahead.'),
    checkNotBefore(claims, nowMs + leewayMs),
    check(typeof jti === 'string' && jti !== '', 'The token has no jti.'),
    check(
      endMs(claims.expireTime) !== undefined,
      'expireTime must be an RFC 3339 time with a time zone, such as 2027-05-01T12:00:00Z.',
    ),
    check(
      reason === undefined || knownReason(reason) !== undefined,
      `reason must be one of ${endReasons.join(', ')}.`,
    ),
  ]
  const fault = findings.find(({ outcome }) => outcome === 'failed')
  if (fault !== undefined) throw invalidProof(fault.detail)
}
