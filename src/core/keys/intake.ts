import type { KeyCheck, KeyCheckRequest } from '../../contract/key-checks.ts'
import { PubringError } from '../../errors.ts'
import { intakeCodes } from '../../intake/codes/index.ts'
import type { Accepted, Verdict } from '../../intake/types.ts'
import type { Principal } from '../access.ts'
import type { Context } from '../context.ts'
import { containsPrivateKey } from '../labels.ts'
import type { Origin } from '../ledger/changes.ts'
import { submittedBefore } from './admission.ts'
import { type Incident, incidentOf, recordExposure } from './incidents.ts'

/**
 * Records the private key that intake found, if any. The verdict then also names the keys of this
 * project that it belongs to.
 */
async function recordExposureOf(
  context: Context,
  incident: Incident,
  verdict: Verdict,
): Promise<Verdict> {
  if (verdict.ok || verdict.exposed === undefined) return verdict
  const kids = await recordExposure(context.store, incident, verdict.exposed)
  if (kids.length === 0) return verdict
  const [{ code, detail }, ...others] = verdict.faults
  const advice = `It is registered in this project as ${kids.join(', ')}: rotate it now.`
  return { ...verdict, faults: [{ code, detail: `${detail} ${advice}` }, ...others] }
}

/** Throws the error of a rejected key, by its place in the request. Records a private key first. */
export async function requireAccepted(
  context: Context,
  incident: Incident,
  verdict: Verdict,
  pointer = '/publicKeyPem',
): Promise<Accepted> {
  const recorded = await recordExposureOf(context, incident, verdict)
  if (recorded.ok) return recorded
  const { faults } = recorded
  throw new PubringError(intakeCodes[faults[0].code].problem, faults[0].detail, {
    errors: faults.map((fault) => ({ pointer, ...fault })),
  })
}

/**
 * Throws `private_key_submitted` if one of the texts, by pointer, holds a private key, and records
 * it as intake does: these texts would be stored as they are.
 */
export async function rejectPrivateKeys(
  context: Context,
  incident: Incident,
  texts: Record<string, string | undefined>,
): Promise<void> {
  for (const [pointer, text] of Object.entries(texts)) {
    if (text === undefined || !containsPrivateKey(text)) continue
    await requireAccepted(context, incident, await context.examine(text, undefined), pointer)
  }
}

/** Reports on a key without storing anything but the incident of a private key. */
export async function checkKey(
  context: Context,
  principal: Principal,
  origin: Origin,
  body: KeyCheckRequest,
): Promise<KeyCheck> {
  const incident = incidentOf(principal, origin)
  const examined = await context.examine(body.publicKeyPem, body.algorithm)
  const verdict = await recordExposureOf(context, incident, examined)
  if (!verdict.ok || !(await context.store.isBlocked(verdict.key))) return toKeyCheck(verdict)
  const { key, normalised } = verdict
  return toKeyCheck({ ok: false, faults: [submittedBefore], normalised, key })
}

/** The body of `POST /v1/key-checks`; it repeats nothing of the submitted text but the public key. */
export function toKeyCheck(verdict: Verdict): KeyCheck {
  const { normalised } = verdict
  if (!verdict.ok) {
    const { faults, key } = verdict
    const { problem } = intakeCodes[faults[0].code]
    return { accepted: false, problem, faults, warnings: [], normalised, ...(key && { key }) }
  }
  const { jwk: _jwk, materialSha256: _material, publicKeyPem, ...key } = verdict.key
  const { warnings } = verdict
  return { accepted: true, faults: [], warnings, normalised, key, publicKeyPem }
}
