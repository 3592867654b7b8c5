import type { Accepted, Verdict } from '@pubring/intake'
import { soleProject } from '../../../kernel/access/grants.ts'
import type { RequestContext } from '../../../kernel/access/principal.ts'
import { rejection } from '../../../kernel/faults.ts'
import { containsPrivateKey } from '../../../kernel/values/labels.ts'
import { recordExposure } from './incidents.ts'

/**
 * Records the private key that intake found, if any. The verdict then also names the keys of this
 * project that it belongs to.
 */
export async function recordExposureOf(
  context: RequestContext,
  projectId: string | undefined,
  verdict: Verdict,
): Promise<Verdict> {
  if (verdict.ok || verdict.exposed === undefined) return verdict
  const kids = await recordExposure(context, projectId, verdict.exposed)
  if (kids.length === 0) return verdict
  const [{ code, detail }, ...others] = verdict.faults
  const advice = `It is registered in this project as ${kids.join(', ')}: rotate it now.`
  return { ...verdict, faults: [{ code, detail: `${detail} ${advice}` }, ...others] }
}

/** Throws the error of a rejected key, by its place in the request. Records a private key first. */
export async function requireAccepted(
  context: RequestContext,
  projectId: string | undefined,
  verdict: Verdict,
  pointer = '/publicKeyPem',
): Promise<Accepted> {
  const recorded = await recordExposureOf(context, projectId, verdict)
  if (recorded.ok) return recorded
  throw rejection(recorded.faults.map((fault) => ({ pointer, ...fault })))
}

/**
 * Throws `private_key_submitted` if one of the values, by pointer, holds a private key, and records
 * it as intake does: texts, and objects as JSON, would be stored as they are. `projectId`: as for
 * `recordExposure`.
 */
export async function rejectPrivateKeys(
  context: RequestContext,
  values: Record<string, string | object | undefined>,
  projectId = soleProject(context.principal.grants),
): Promise<void> {
  for (const [pointer, value] of Object.entries(values)) {
    if (value === undefined) continue
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    if (!containsPrivateKey(text)) continue
    await requireAccepted(context, projectId, await context.intake.examine(text), pointer)
  }
}
