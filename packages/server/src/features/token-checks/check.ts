import type { PublicKey, Verdict } from '@pubring/intake'
import type { JwsAlgorithm } from '@pubring/intake/algorithms'
import { intakeCodes } from '@pubring/intake/codes'
import type { CallerLink } from '../../kernel/access/callers.ts'
import { soleProject } from '../../kernel/access/grants.ts'
import type { RequestContext } from '../../kernel/access/principal.ts'
import { rejection } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { parseId } from '../../kernel/values/ids.ts'
import { isActive, isoTime } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { checkAudience, checkExpiry, checkIssuer, checkNotBefore } from '../../tokens/claims.ts'
import { checkForm, type DecodedToken, decodeToken } from '../../tokens/decode.ts'
import {
  type Finding,
  failed,
  formatDuration,
  passed,
  quote,
  runSteps,
  type Step,
  warned,
} from '../../tokens/findings.ts'
import { checkSignature, verifies } from '../../tokens/signatures.ts'
import { type KeyLife, keyHistoryOf } from '../key-history/history.ts'
import { findBlockedOf } from '../keys/exposure/fingerprints.ts'
import { recordExposureOf } from '../keys/exposure/incidents.ts'
import { awaitsApproval, visibleKeys } from '../keys/introduction.ts'
import { issuerOf } from '../keys/jwks.ts'
import { kidOf } from '../keys/kids.ts'
import { requireKeySet } from '../keys/operations.ts'
import { blockFault } from '../keys/registration/admission.ts'
import { examineSubmission, examineText, type Submission } from '../keys/registration/submission.ts'
import type { KeyRecord } from '../keys/stored.ts'
import { tokenValid } from './changes.ts'
import {
  type KeyCheck,
  type TokenCheck,
  type TokenCheckRequest,
  type TokenCheckStep,
  tokenCheckReasons,
} from './contract.ts'
import { checkActiveThen, describeDeleted, parsePastTime } from './past.ts'

/**
 * Reports why a JWT would or would not verify with the project's keys, now or at an earlier time
 * (RFC 7519 section 7.2, no leeway for clocks), step by step up to the first that fails. Only `kid` selects
 * the key. Nothing of the token is stored.
 */
export async function checkToken(
  kernel: Kernel,
  context: RequestContext,
  projectId: string,
  request: TokenCheckRequest,
): Promise<TokenCheck> {
  const { link } = context.principal
  const { keys: all } = await requireKeySet(kernel, projectId)
  const keys = visibleKeys(all, link)
  const now = kernel.clock.now()
  const token = decodeToken(request.token)
  const { at } = request
  const past = at === undefined ? undefined : parsePastTime(at, token, now)
  if ('fault' in token) return report([['well_formed', () => failed(token.fault)]])
  const { header, claims } = token
  const lives = past && (await keyHistoryOf(kernel.store, projectId))?.lives
  const nowMs = past?.ms ?? now
  const key = findKey(keys, header.kid)
  const selection: Step<TokenCheckStep>[] = [
    [
      'well_formed',
      () => checkForm(token, (fault) => warned(`${fault} Some verifiers reject such a token.`)),
    ],
    ['kid_present', () => checkKidPresent(token, keys)],
    ['kid_known', () => checkKidKnown(token, keys, link ? undefined : lives)],
  ]
  if (key === undefined) return { ...(await report(selection)), header, claims }
  const active = isActive(key, isoTime(now))
  const own = issuerOf(kernel.config.publicUrl, projectId)
  const steps: Step<TokenCheckStep>[] = [
    ...selection,
    [
      'key_active',
      () =>
        past && !key.contradicted
          ? checkActiveThen(past, lives?.get(key.id)?.spans ?? [], key.endReason === 'compromised')
          : checkActive(key, active, now, link),
    ],
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
  const checked = await report(steps)
  if (checked.valid) await context.hooks.run(tokenValid, context, key)
  return { ...checked, header, claims, key: shown }
}

async function report(steps: readonly Step<TokenCheckStep>[]): Promise<TokenCheck> {
  const { failed: step, steps: results } = await runSteps(steps)
  if (step === undefined) return { valid: true, steps: results }
  return { valid: false, reason: tokenCheckReasons[step], steps: results }
}

function checkActive(
  key: KeyRecord,
  active: boolean,
  nowMs: number,
  link: CallerLink | undefined,
): Finding {
  if (key.contradicted) {
    const detail = 'The stored key is damaged, or contradicts the ledger, and is not published.'
    return failed(`${detail} Delete it and register it again.`)
  }
  if (active && key.endReason === 'compromised') {
    return warned('The key is active, but compromised: others have its private key.')
  }
  if (active) return passed('The key is active.')
  if (link !== undefined && awaitsApproval(key, isoTime(nowMs))) {
    return warned('The key waits for approval: verifiers accept its tokens once it is activated.')
  }
  if (!key.enabled) return failed('The key is deactivated. Sign with an active one.')
  const { expireTime = '' } = key
  return failed(
    `The key expired at ${expireTime}, ${formatDuration(nowMs - Date.parse(expireTime))} ago. Sign with an active one.`,
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

/** The key that verifiers select for the `kid`, which they compare exactly. */
function findKey(keys: readonly KeyRecord[], kid: unknown): KeyRecord | undefined {
  return keys.find((key) => kidOf(key) === kid)
}

/** Whether the header has a `kid`; if not, which kid it should have. */
async function checkKidPresent(token: DecodedToken, keys: readonly KeyRecord[]): Promise<Finding> {
  const { kid } = token.header
  if (typeof kid === 'string' && kid !== '') return passed('The header names a key.')
  const fault =
    kid === undefined || kid === ''
      ? 'The header has no kid. Set it to the kid that was returned when the key was registered.'
      : 'The kid in the header is not a string.'
  return failed(`${fault}${await describeSigner(token, keys)}`)
}

/** Whether the project has the key. A key of another project is unknown here. */
async function checkKidKnown(
  token: DecodedToken,
  keys: readonly KeyRecord[],
  lives: ReadonlyMap<string, KeyLife> | undefined,
): Promise<Finding> {
  const { kid } = token.header
  const key = findKey(keys, kid)
  if (key !== undefined) return passed(`The project has this key: ${quote(key.label)}.`)
  const fault =
    confusionOf(String(kid), keys) ??
    (lives && describeDeleted(lives, kid)) ??
    'The project has no key with this kid. It was deleted, or never registered here.'
  return failed(`${fault}${await describeSigner(token, keys)}`)
}

/** Explains a `kid` that is almost the one of a key, or another property of it. */
function confusionOf(kid: string, keys: readonly KeyRecord[]): string | undefined {
  const trimmed = kid.trim()
  const spaced = findKey(keys, trimmed)
  if (spaced !== undefined) return `The kid has white space around it. It must be ${kidOf(spaced)}.`
  const byId = keys.find(({ id }) => id === parseId(trimmed))
  if (byId?.publishedKid !== undefined) {
    return `The kid is the id of a key that is published as ${byId.publishedKid}. Use that kid.`
  }
  if (byId !== undefined) return `The kid must be exactly ${byId.id}, in lower case.`
  const properties: [string, (key: KeyRecord) => boolean][] = [
    ['thumbprint', ({ thumbprint }) => thumbprint === trimmed],
    ['spkiSha256', ({ spkiSha256 }) => spkiSha256 === trimmed.toLowerCase()],
    ['label', ({ label }) => label === trimmed],
  ]
  for (const [name, matches] of properties) {
    const [found, ...others] = keys.filter(matches)
    if (found === undefined) continue
    if (others.length > 0) return `The kid is the ${name} of several keys. Use the kid of one.`
    return `The kid is the ${name} of a key. Use its kid, ${kidOf(found)}.`
  }
  return undefined
}

/** Keys whose signature is tried for a token without a known `kid`; the newest ones. */
const maxTried = 100

/** A sentence on the key that the signature fits; empty for a token without an algorithm. */
async function describeSigner(token: DecodedToken, keys: readonly KeyRecord[]): Promise<string> {
  const { alg } = token.header
  const candidates = keys.filter(({ jwsAlgorithm }) => jwsAlgorithm === alg).slice(-maxTried)
  for (const key of candidates) {
    if (!(await verifies(token, key))) continue
    return ` The signature fits the key ${quote(key.label)}: set the kid to ${kidOf(key)}.`
  }
  if (candidates.length === maxTried) {
    return ` The signature fits none of the newest ${maxTried} keys for this algorithm.`
  }
  if (typeof alg !== 'string' || token.signature.length === 0) return ''
  return ' The signature fits no key of the project.'
}

/**
 * Reports on a key without storing anything but the incident of a private key. Throws every fault of
 * a malformed request, those of the key included.
 */
export async function checkKey(context: RequestContext, submission: Submission): Promise<KeyCheck> {
  const projectId = soleProject(context.principal.grants)
  const examined = await examineText(context, submission)
  if (submission.malformed !== undefined || examined === undefined) {
    const result = await examineSubmission(context, projectId, submission, examined)
    throw rejection(Array.isArray(result) ? result : [])
  }
  const verdict = await recordExposureOf(context, projectId, examined)
  if (!verdict.ok) return toKeyCheck(verdict)
  const { key, normalised } = verdict
  const blocked = await findBlockedOf(context.store.reader, key, projectId)
  const fault = blockFault(key, projectId, blocked)
  if (fault === undefined) return toKeyCheck(verdict)
  return toKeyCheck({ ok: false, faults: [fault], normalised, key: described(key) })
}

/** The body of `POST /v1/key-checks`; it repeats nothing of the submitted text but the public key. */
export function toKeyCheck(verdict: Verdict): KeyCheck {
  const { normalised } = verdict
  if (!verdict.ok) {
    const { faults, key } = verdict
    const problem = intakeCodes[faults[0].code]
    return { accepted: false, problem, faults, warnings: [], normalised, ...(key && { key }) }
  }
  const { key, warnings } = verdict
  const { publicKeyPem } = key
  return { accepted: true, faults: [], warnings, normalised, key: described(key), publicKeyPem }
}

function described({
  jwk: _jwk,
  materialSha256: _material,
  publicKeyPem: _pem,
  ...key
}: PublicKey) {
  return key
}
