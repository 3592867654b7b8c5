import { parseProjectRef } from '../../kernel/access/projects.ts'
import { notFound } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { tokenDigest } from '../../kernel/ledger/token-uses.ts'
import { isoTime, parseTimeMs, year10000 } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import {
  checkAudience,
  checkExpiry,
  checkIssuer,
  checkNotBefore,
  leewayMs,
  maxProofMs,
} from '../../tokens/claims.ts'
import { checkForm, decodeToken } from '../../tokens/decode.ts'
import { failed, passed } from '../../tokens/findings.ts'
import { verifies } from '../../tokens/signatures.ts'
import { invalidProof, keyChanges } from './changes.ts'
import { endReasons, type JwtKeyEnded } from './contract.ts'
import { issuerOf } from './jwks.ts'
import { keySetOf } from './key-sets.ts'
import { endType, findByKid } from './kids.ts'
import type { KeyRecord } from './stored.ts'

/**
 * Sets the end of the key, or brings it nearer, by a token that the key itself signed. It may be inactive.
 * Throws `key_not_found`, also for a project that does not exist, or `invalid_proof`.
 */
export async function endKey(
  kernel: Kernel,
  request: { projectIdOrName: string; kid: string; token: string; requestId: string },
): Promise<JwtKeyEnded> {
  const { store, clock } = kernel
  const { kid, token, requestId } = request
  const project = await store.identifyProject(parseProjectRef(request.projectIdOrName))
  const keySet = project && (await keySetOf(store, project.id))
  const key = keySet && findByKid(keySet.keys, kid)
  if (key === undefined) throw notFound('key_not_found')
  const { id, label, projectId } = key
  const nowMs = clock.now()
  const proof = await readProof(token, key, kernel.config.publicUrl, nowMs)
  const origin = { actor: { name: label, jwtKeyId: id }, requestId, time: isoTime(nowMs) }
  const expireTime = await store.commit(keyChanges.endKey, { origin, projectId, kid: id, ...proof })
  return { kid: id, expireTime }
}

/** The end in a token that the key signed a moment ago, and for itself. Throws `invalid_proof`. */
async function readProof(text: string, key: KeyRecord, publicUrl: string, nowMs: number) {
  const token = decodeToken(text)
  if ('fault' in token) throw invalidProof(token.fault)
  const { header, claims } = token
  const { jti, sub, exp, expireTime, reason } = claims
  const issuer = issuerOf(publicUrl, key.projectId)
  const endMs = parseTimeMs(String(expireTime)) ?? year10000
  const known = endReasons.find((each) => each === reason)
  const check = (holds: boolean, fault: string) => (holds ? passed('') : failed(fault))
  const findings = [
    checkForm(token),
    check(header.typ === endType, `The typ in the header is not ${endType}.`),
    check(await verifies(token, key), `It does not verify the signature by ${key.jwsAlgorithm}.`),
    checkIssuer(claims, { own: issuer, requested: undefined }),
    checkAudience(claims, publicUrl),
    check(findByKid([key], String(sub)) === key, 'sub is not the kid of the key.'),
    checkExpiry(claims, nowMs),
    check(Number(exp) * 1_000 <= nowMs + maxProofMs, 'exp must be set, at most 5 minutes ahead.'),
    checkNotBefore(claims, nowMs + leewayMs),
    check(typeof jti === 'string' && jti !== '', 'The token has no jti.'),
    check(
      typeof expireTime === 'string' && endMs < year10000,
      'expireTime must be an RFC 3339 time with a time zone, such as 2027-05-01T12:00:00Z.',
    ),
    check(known === reason, `reason must be one of ${endReasons.join(', ')}.`),
  ]
  const fault = findings.find(({ outcome }) => outcome === 'failed')
  if (fault !== undefined) throw invalidProof(fault.detail)
  const once = tokenDigest(issuer, String(jti))
  return { expireTime: isoTime(endMs), once, ...present({ reason: known }) }
}
