import { compactVerify, errors, importJWK } from 'jose'
import type { JwsAlgorithm } from '../../contract/algorithms.ts'
import {
  type TokenCheck,
  type TokenCheckRequest,
  type TokenCheckStep,
  tokenCheckReasons,
} from '../../contract/token-checks.ts'
import type { Context } from '../context.ts'
import { isActive } from '../expiry.ts'
import { parseId } from '../ids.ts'
import { requireKeySet } from '../keys/operations.ts'
import type { KeyRecord } from '../records.ts'
import { isoTime } from '../times.ts'
import { checkAudience, checkExpiry, checkIssuer, checkNotBefore } from './claims.ts'
import { type DecodedToken, decodeToken } from './decode.ts'
import { type Finding, failed, formatDuration, passed, quote } from './findings.ts'

type Step = [TokenCheckStep, () => Finding | Promise<Finding>]

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
  const { header, claims } = token
  const { kid } = header
  const key = keys.find(({ id }) => id === kid)
  const selection: Step[] = [
    ['well_formed', () => passed('A JWT of three parts.')],
    ['kid_present', () => checkKid(kid)],
    ['kid_known', () => checkKey(key, keys, kid)],
  ]
  if (key === undefined) return { ...(await report(selection)), header, claims }
  const active = isActive(key, isoTime(nowMs))
  const steps: Step[] = [
    ...selection,
    ['key_active', () => checkActive(key, active, nowMs)],
    ['algorithm', () => checkAlgorithm(header.alg, key.jwsAlgorithm)],
    ['signature', () => checkSignature(token, key)],
    ['exp', () => checkExpiry(claims.exp, nowMs)],
    ['nbf', () => checkNotBefore(claims.nbf, nowMs)],
    ['iss', () => checkIssuer(claims.iss, request.issuer)],
    ['aud', () => checkAudience(claims.aud, request.audience)],
  ]
  const { id, label, jwsAlgorithm } = key
  return { ...(await report(steps)), header, claims, key: { id, label, jwsAlgorithm, active } }
}

/** Runs the steps in order, up to the first that fails. */
async function report(steps: readonly Step[]): Promise<TokenCheck> {
  const results: TokenCheck['steps'] = []
  for (const [step, run] of steps) {
    const { ok, detail } = await run()
    results.push({ step, ok, detail })
    if (!ok) return { valid: false, reason: tokenCheckReasons[step], steps: results }
  }
  return { valid: true, steps: results }
}

function checkKid(kid: unknown): Finding {
  if (typeof kid === 'string' && kid !== '') return passed('The header names a key.')
  if (kid === undefined || kid === '') {
    return failed(
      'The header has no kid. Set it to the kid that was returned when the key was registered.',
    )
  }
  return failed('The kid in the header is not a string.')
}

/** A key of another project is unknown here. */
function checkKey(key: KeyRecord | undefined, keys: readonly KeyRecord[], kid: unknown): Finding {
  if (key !== undefined) return passed(`The project has this key: ${quote(key.label)}.`)
  const byThumbprint = keys.find(({ thumbprint }) => thumbprint === kid)
  if (byThumbprint !== undefined) {
    return failed(`The kid is the thumbprint of a key. Use its kid, ${byThumbprint.id}.`)
  }
  const byCase = keys.find(({ id }) => typeof kid === 'string' && id === parseId(kid))
  if (byCase !== undefined) return failed(`The kid must be exactly ${byCase.id}, in lower case.`)
  return failed('The project has no key with this kid. It was deleted, or never registered here.')
}

function checkActive(key: KeyRecord, active: boolean, nowMs: number): Finding {
  if (active) return passed('The key is active.')
  if (!key.enabled) return failed('The key is deactivated.')
  const { expireTime = '' } = key
  return failed(
    `The key expired at ${expireTime}, ${formatDuration(nowMs - Date.parse(expireTime))} ago.`,
  )
}

/** RFC 8725 section 3.1: only the registered algorithm is accepted, whatever the token says. */
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

async function checkSignature({ text, signature }: DecodedToken, key: KeyRecord): Promise<Finding> {
  const { jwk, jwsAlgorithm } = key
  const publicKey = await importJWK({ ...jwk }, jwsAlgorithm)
  try {
    await compactVerify(text, publicKey, { algorithms: [jwsAlgorithm] })
    return passed('The signature is valid.')
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error
    return failed(
      encodingFault(signature, jwsAlgorithm) ??
        'The signature does not match the token and this key. Another private key signed the token, or it was altered.',
    )
  }
}

/** Bytes of an ECDSA signature in a JWS: R and S at the length of the curve (RFC 7518 section 3.4). */
const ecdsaLengths: Partial<Record<JwsAlgorithm, number>> = { ES256: 64, ES384: 96, ES512: 132 }

/** The usual mistake with ECDSA: cryptographic libraries return DER, which JWS does not use. */
function encodingFault(signature: Uint8Array, algorithm: JwsAlgorithm): string | undefined {
  const length = ecdsaLengths[algorithm]
  if (length === undefined || signature.length === length || signature[0] !== 0x30) return undefined
  return `The signature is in DER; ${algorithm} needs R and S as ${length} bytes (RFC 7518 section 3.4; in node:crypto: dsaEncoding 'ieee-p1363').`
}
