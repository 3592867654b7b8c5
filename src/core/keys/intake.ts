import type { Accepted, Verdict } from '../../intake/types.ts'
import type { Context, RequestContext } from '../context.ts'
import { rejection } from '../faults.ts'
import { containsPrivateKey } from '../labels.ts'
import { type Incident, recordExposure } from './incidents.ts'

/**
 * Records the private key that intake found, if any. The verdict then also names the keys of this
 * project that it belongs to.
 */
export async function recordExposureOf(
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
  throw rejection(recorded.faults.map((fault) => ({ pointer, ...fault })))
}

/**
 * Throws `private_key_submitted` if one of the texts, by pointer, holds a private key, and records
 * it as intake does: these texts would be stored as they are.
 */
export async function rejectPrivateKeys(
  context: RequestContext,
  incident: Incident,
  texts: Record<string, string | undefined>,
): Promise<void> {
  for (const [pointer, text] of Object.entries(texts)) {
    if (text === undefined || !containsPrivateKey(text)) continue
    await requireAccepted(context, incident, await context.intake.examine(text, undefined), pointer)
  }
}
