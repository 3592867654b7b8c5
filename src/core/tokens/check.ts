import type { JwsAlgorithm } from '../../contract/algorithms.ts'
import {
  type TokenCheck,
  type TokenCheckRequest,
  type TokenCheckStep,
  tokenCheckReasons,
} from '../../contract/checks/tokens.ts'
import { present } from '../../runtime/present.ts'
import type { Context } from '../context.ts'
import { isActive } from '../expiry.ts'
import { issuerOf } from '../keys/jwks.ts'
import { requireKeySet } from '../keys/operations.ts'
import type { KeyRecord } from '../records.ts'
import { isoTime } from '../times.ts'
import { checkAudience, checkExpiry, checkIssuer, checkNotBefore } from './claims.ts'
import { decodeToken } from './decode.ts'
import {
  type Finding,
  failed,
  formatDuration,
  passed,
  quote,
  runSteps,
  type Step,
  warned,
} from './findings.ts'
import { checkKidKnown, checkKidPresent, findKey } from './kids.ts'
import { checkSignature } from './signatures.ts'

/**
 * Reports why a JWT would or would not verify with the project's current keys (RFC 7519 section 7.2,
 * no leeway for clocks), step by step up to the first that fails. Only `kid` selects the key. Nothing
 * of the token is stored.
 */
export async function checkToken(
  context: Context,
  projectId: string,
  request: TokenCheckRequest,
): Promise<TokenCheck> {
  const { keys } = await requireKeySet(context, projectId)
  const nowMs = context.clock.now()
  const token = decodeToken(request.token)
  if ('fault' in token) return report([['well_formed', () => failed(token.fault)]])
  const { header, claims, warnings } = token
  const key = findKey(keys, header.kid)
  const selection: Step<TokenCheckStep>[] = [
    ['well_formed', () => checkForm(warnings)],
    ['kid_present', () => checkKidPresent(token, keys)],
    ['kid_known', () => checkKidKnown(token, keys)],
  ]
  if (key === undefined) return { ...(await report(selection)), header, claims }
  const active = isActive(key, isoTime(nowMs))
  const own = issuerOf(context.config.publicUrl, projectId)
  const steps: Step<TokenCheckStep>[] = [
    ...selection,
    ['key_active', () => checkActive(key, active, nowMs)],
    ['algorithm', () => checkAlgorithm(header.alg, key.jwsAlgorithm)],
    ['signature', () => checkSignature(token, key)],
    ['exp', () => checkExpiry(claims, nowMs)],
    ['nbf', () => checkNotBefore(claims, nowMs)],
    ['iss', () => checkIssuer(claims, { own, requested: request.issuer })],
    ['aud', () => checkAudience(claims, request.audience)],
  ]
  const { id, publishedKid, label, jwsAlgorithm } = key
  const published = present({ publishedKid })
  const shown = { id, ...published, label, jwsAlgorithm, active }
  return { ...(await report(steps)), header, claims, key: shown }
}

async function report(steps: readonly Step<TokenCheckStep>[]): Promise<TokenCheck> {
  const { failed: step, steps: results } = await runSteps(steps)
  if (step === undefined) return { valid: true, steps: results }
  return { valid: false, reason: tokenCheckReasons[step], steps: results }
}

function checkForm(warnings: readonly string[]): Finding {
  if (warnings.length === 0) return passed('A JWT of three parts.')
  return warned(`${warnings.join(' ')} Some verifiers reject such a token.`)
}

function checkActive(key: KeyRecord, active: boolean, nowMs: number): Finding {
  if (key.contradicted) {
    const detail = 'The stored key is damaged, or contradicts the ledger, and is not published.'
    return failed(`${detail} Delete it and register it again.`)
  }
  if (active) return passed('The key is active.')
  if (!key.enabled) return failed('The key is deactivated.')
  const { expireTime = '' } = key
  return failed(
    `The key expired at ${expireTime}, ${formatDuration(nowMs - Date.parse(expireTime))} ago.`,
  )
}

/** RFC 8725 section 3.1: only the registered algorithm is accepted; the token does not choose it. */
function checkAlgorithm(alg: unknown, pinned: JwsAlgorithm): Finding {
  if (alg === pinned) return passed(`The alg is ${pinned}, as registered.`)
  if (typeof alg !== 'string') {
    return failed(`The header has no alg, or it is not a string. It must be ${pinned}.`)
  }
  const mismatch = `The header says ${quote(alg)}, but the key is registered for ${pinned} only.`
  if (/^none$/i.test(alg)) return failed(`${mismatch} An unsigned token proves nothing.`)
  if (/^HS\d+$/i.test(alg)) {
    return failed(`${mismatch} A public key is no secret, so anyone could have signed this token.`)
  }
  return failed(`${mismatch} Sign with ${pinned}, or register a key for the other algorithm.`)
}
