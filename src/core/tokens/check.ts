import { compactVerify, errors, importJWK } from 'jose'
import type { JwsAlgorithm } from '../../contract/algorithms.ts'
import {
  type TokenCheck,
  type TokenCheckRequest,
  type TokenCheckStep,
  tokenCheckReasons,
} from '../../contract/token-checks.ts'
import type { Context } from '../context.ts'
import { parseId } from '../ids.ts'
import { isActive } from '../keys/jwks.ts'
import { requireKeySet } from '../keys/operations.ts'
import type { KeyRecord } from '../records.ts'
import { isoTime } from '../times.ts'
import { findAudience, findExpiry, findIssuer, findNotBefore } from './claims.ts'
import { type ReadToken, readToken } from './decode.ts'
import { type Finding, failed, passed, quoted, span } from './findings.ts'

type Step = [TokenCheckStep, () => Finding | Promise<Finding>]

/**
 * Says why a JWT would or would not verify with the project's keys at this moment, without any
 * leeway for clocks (RFC 7519 section 7.2), step by step up to the first that fails. Nothing that
 * the header says but `kid` chooses the key, and nothing of the token is kept.
 */
export async function checkToken(
  context: Context,
  projectId: string,
  request: TokenCheckRequest,
): Promise<TokenCheck> {
  const { keys } = await requireKeySet(context, projectId)
  const nowMs = context.clock.now()
  const read = readToken(request.token)
  if ('fault' in read) return report([['well_formed', () => failed(read.fault)]])
  const { header, claims } = read
  const { kid } = header
  const key = keys.find(({ id }) => id === kid)
  const first: Step[] = [
    ['well_formed', () => passed('A JWT of three parts.')],
    ['kid_present', () => findKid(kid)],
    ['kid_known', () => findKey(key, keys, kid)],
  ]
  if (key === undefined) return { ...(await report(first)), header, claims }
  const active = isActive(key, isoTime(nowMs))
  const steps: Step[] = [
    ...first,
    ['key_active', () => findState(key, active, nowMs)],
    ['algorithm', () => findAlgorithm(header.alg, key.jwsAlgorithm)],
    ['signature', () => findSignature(read, key)],
    ['exp', () => findExpiry(claims.exp, nowMs)],
    ['nbf', () => findNotBefore(claims.nbf, nowMs)],
    ['iss', () => findIssuer(claims.iss, request.issuer)],
    ['aud', () => findAudience(claims.aud, request.audience)],
  ]
  const { id, label, jwsAlgorithm } = key
  return { ...(await report(steps)), header, claims, key: { id, label, jwsAlgorithm, active } }
}

/** Takes the steps in order, up to the first that fails. */
async function report(steps: readonly Step[]): Promise<TokenCheck> {
  const taken: TokenCheck['steps'] = []
  for (const [step, find] of steps) {
    const { ok, detail } = await find()
    taken.push({ step, ok, detail })
    if (!ok) return { valid: false, reason: tokenCheckReasons[step], steps: taken }
  }
  return { valid: true, steps: taken }
}

function findKid(kid: unknown): Finding {
  if (typeof kid === 'string' && kid !== '') return passed('The header names a key.')
  if (kid === undefined || kid === '') {
    return failed(
      'The header has no kid. Put the kid that registering the key answered into the JWT header.',
    )
  }
  return failed('The kid in the header is not a string.')
}

/** A key of another project is as unknown as one that never was. */
function findKey(key: KeyRecord | undefined, keys: readonly KeyRecord[], kid: unknown): Finding {
  if (key !== undefined) return passed(`The project has this key: ${quoted(key.label)}.`)
  const byThumbprint = keys.find(({ thumbprint }) => thumbprint === kid)
  if (byThumbprint !== undefined) {
    return failed(`The kid is the thumbprint of a key; the kid to use is ${byThumbprint.id}.`)
  }
  const byCase = keys.find(({ id }) => typeof kid === 'string' && id === parseId(kid))
  if (byCase !== undefined) return failed(`The kid must be written exactly as ${byCase.id}.`)
  return failed('The project has no key with this kid: it was never registered here, or deleted.')
}

function findState(key: KeyRecord, active: boolean, nowMs: number): Finding {
  if (active) return passed('The key is active.')
  if (!key.enabled) return failed('The key is switched off.')
  const { expireTime = '' } = key
  return failed(`The key expired at ${expireTime}, ${span(nowMs - Date.parse(expireTime))} ago.`)
}

/** RFC 8725 section 3.1: the algorithm is the registered one, whatever the token would like. */
function findAlgorithm(alg: unknown, pinned: JwsAlgorithm): Finding {
  if (alg === pinned) return passed(`The alg is ${pinned}, as registered.`)
  if (typeof alg !== 'string') {
    return failed(`The header has no alg that is a string; it must be ${pinned}.`)
  }
  const found = `The header says ${quoted(alg)}, but the key is registered for ${pinned} alone.`
  if (/^none$/i.test(alg)) return failed(`${found} An unsigned token proves nothing.`)
  if (/^HS\d+$/i.test(alg)) {
    return failed(`${found} A public key is no secret: whoever has it could have made this token.`)
  }
  return failed(`${found} Sign with ${pinned}, or register a key for the other algorithm.`)
}

async function findSignature({ text, signature }: ReadToken, key: KeyRecord): Promise<Finding> {
  const { jwk, jwsAlgorithm } = key
  const publicKey = await importJWK({ ...jwk }, jwsAlgorithm)
  try {
    await compactVerify(text, publicKey, { algorithms: [jwsAlgorithm] })
    return passed('The signature is right.')
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error
    return failed(
      encodingFault(signature, jwsAlgorithm) ??
        'The signature does not fit header, payload and this key: it was made with another private key, or the token was changed.',
    )
  }
}

/** Octets of an ECDSA signature in a JWS: R and S at the length of the curve (RFC 7518 section 3.4). */
const ecdsaLengths: Partial<Record<JwsAlgorithm, number>> = { ES256: 64, ES384: 96, ES512: 132 }

/** The usual mistake with ECDSA: cryptographic libraries answer DER, which JWS does not use. */
function encodingFault(signature: Uint8Array, algorithm: JwsAlgorithm): string | undefined {
  const wanted = ecdsaLengths[algorithm]
  if (wanted === undefined || signature.length === wanted || signature[0] !== 0x30) return undefined
  return `The signature is in DER; ${algorithm} needs R and S as ${wanted} octets (RFC 7518 section 3.4; in node:crypto: dsaEncoding 'ieee-p1363').`
}
