import type { PublicKey, Verdict } from '@pubring/intake'
import { intakeCodes } from '@pubring/intake/codes'
import { soleProject } from '../../kernel/access/grants.ts'
import type { RequestContext } from '../../kernel/access/principal.ts'
import { rejection } from '../../kernel/faults.ts'
import { recordExposureOf } from '../keys/exposure/intake.ts'
import { isBlocked } from '../keys/reads.ts'
import { submittedBefore } from '../keys/registration/admission.ts'
import { examineSubmission, examineText, type Submission } from '../keys/registration/submission.ts'
import type { KeyCheck } from './contract.ts'

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
  if (!verdict.ok || !(await isBlocked(context.store.reader, verdict.key)))
    return toKeyCheck(verdict)
  const { key, normalised } = verdict
  return toKeyCheck({ ok: false, faults: [submittedBefore], normalised, key: described(key) })
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
