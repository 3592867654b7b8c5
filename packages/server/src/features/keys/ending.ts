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
import { wasEverActive } from './states.ts'
import type { KeyRecord } from './stored.ts'

/**
 * Sets the end of the key, or brings it nearer, by a token that the key itself signed. It may be inactive.
 * Throws `invalid_proof`, or `key_not_found` for a project or a key that does not exist. A key that was never
 * public is as unknown to everyone who has no proof: by the answer, and by the signature that is verified.
 */
export async function endKey(
  kernel: Kernel,
  request: { projectIdOrName: string; kid: string; token: string; requestId: string },
): Promise<JwtKeyEnded> {
  const { store, clock } = kernel
  const { kid, requestId } = request
  const project = await store.identifyProject(parseProjectRef(request.projectIdOrName))
  const keySet = project && (await keySetOf(store, project.id))
  const keys = keySet?.keys ?? []
  const token = decodeToken(request.token)
  const found = findByKid(keys, kid)
  const fitting = keys.filter(
    ({ jwsAlgorithm }) => 'header' in token && token.header.alg === jwsAlgorithm,
  )
  const isPublic = found !== undefined && wasEverActive(found)
  const key = isPublic ? found : (findByKid(fitting, kid) ?? fitting[0])
  const nowMs = clock.now()
  const proof = key && (await readProof(token, key, kernel.config.publicUrl, nowMs))
  if (proof === undefined || found === undefined || found !== key) throw notFound('key_not_found')
  if ('fault' in proof) throw isPublic ? invalidProof(proof.fault) : notFound('key_not_found')
  const { id, label, projectId } = found
  const origin = { actor: { name: label, jwtKeyId: id }, requestId, time: isoTime(nowMs) }
  const expireTime = await store.commit(keyChanges.endKey, { origin, projectId, kid: id, ...proof })
  return { kid: id, expireTime }
}

/** The end in a token that the key signed a moment ago, and for itself; or why it is not such a token. */
async function readProof(
  token: ReturnType<typeof decodeToken>,
  key: KeyRecord,
  publicUrl: string,
  nowMs: number,
) {
  if ('fault' in token) return token
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
  if (fault !== undefined) return { fault: fault.detail }
  const once = tokenDigest(issuer, String(jti))
  return { expireTime: isoTime(endMs), once, ...present({ reason: known }) }
}
