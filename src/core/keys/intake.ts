import type { Algorithm } from '../../contract/algorithms.ts'
import type { KeyCheck, KeyCheckRequest } from '../../contract/key-checks.ts'
import { PubringError } from '../../errors.ts'
import { intakeCodes } from '../../intake/codes/index.ts'
import type { Accepted, Rejected, Verdict } from '../../intake/types.ts'
import type { Principal } from '../access.ts'
import type { Context } from '../context.ts'
import type { Origin } from '../ledger/changes.ts'
import { submittedBefore } from './admission.ts'
import { type Incident, incidentOf, recordExposure } from './incidents.ts'
import { containsPrivateKey } from './labels.ts'

/**
 * The intake's verdict. A private key is recorded before the answer, and where the project has it
 * registered the answer says so.
 */
async function examine(
  context: Context,
  incident: Incident,
  text: string,
  algorithm: Algorithm | undefined,
): Promise<Verdict> {
  return recordExposureOf(context, incident, await context.examine(text, algorithm))
}

/** The verdict, with what is to be said of a private key once its incident is recorded. */
export async function recordExposureOf(
  context: Context,
  incident: Incident,
  verdict: Verdict,
): Promise<Verdict> {
  if (verdict.ok || verdict.exposed === undefined) return verdict
  const kids = await recordExposure(context.store, incident, verdict.exposed)
  if (kids.length === 0) return verdict
  const [{ code, detail }, ...others] = verdict.faults
  const advice = `It is registered in this project, as ${kids.join(', ')}: rotate it now.`
  return { ...verdict, faults: [{ code, detail: `${detail} ${advice}` }, ...others] }
}

/** The accepted key, or the error that refuses it; `key.create` refuses what is blocked. */
export async function requireAcceptedKey(
  context: Context,
  incident: Incident,
  text: string,
  algorithm: Algorithm,
): Promise<Accepted> {
  const verdict = await examine(context, incident, text, algorithm)
  if (!verdict.ok) throw intakeError(verdict, '/publicKeyPem')
  return verdict
}

/**
 * Refuses texts of a request that are to be stored as they are, by their pointers, where one holds a
 * private key: as the intake does, and with the same incident. Throws `private_key_submitted`.
 */
export async function rejectPrivateKeys(
  context: Context,
  incident: Incident,
  texts: Record<string, string | undefined>,
): Promise<void> {
  for (const [pointer, text] of Object.entries(texts)) {
    if (text === undefined || !containsPrivateKey(text)) continue
    const verdict = await examine(context, incident, text, undefined)
    if (!verdict.ok) throw intakeError(verdict, pointer)
  }
}

/** The error that refuses what the verdict is about, by its place in the request. */
export function intakeError({ faults }: Rejected, pointer: string): PubringError {
  const [first] = faults
  return new PubringError(intakeCodes[first.code].problem, first.detail, {
    errors: faults.map((fault) => ({ pointer, ...fault })),
  })
}

/** The same verdict as a report; nothing is stored but the incident of a private key. */
export async function checkKey(
  context: Context,
  principal: Principal,
  origin: Origin,
  body: KeyCheckRequest,
): Promise<KeyCheck> {
  const incident = incidentOf(principal, origin)
  const verdict = await examine(context, incident, body.publicKeyPem, body.algorithm)
  if (!verdict.ok || !(await context.store.isBlocked(verdict.key))) return toKeyCheck(verdict)
  const { key, normalised } = verdict
  return toKeyCheck({ ok: false, faults: [submittedBefore], normalised, key })
}

/** The verdict as `POST /v1/key-checks` answers it: nothing but the public key is in it. */
export function toKeyCheck(verdict: Verdict): KeyCheck {
  const { normalised } = verdict
  if (!verdict.ok) {
    const { faults, key } = verdict
    const { problem } = intakeCodes[faults[0].code]
    return { accepted: false, problem, faults, warnings: [], normalised, ...(key && { key }) }
  }
  const { jwk: _jwk, materialSha256: _material, publicKeyPem, ...key } = verdict.key
  return {
    accepted: true,
    faults: [],
    warnings: verdict.warnings,
    normalised,
    key,
    publicKeyPem,
  }
}
