import type { Accepted, ExposedKey, Verdict } from '@pubring/intake'
import { PubringError } from '../../../errors.ts'
import { soleProject } from '../../../kernel/access/grants.ts'
import type { RequestContext } from '../../../kernel/access/principal.ts'
import type { Store } from '../../../kernel/context.ts'
import { rejection } from '../../../kernel/faults.ts'
import type { Actor } from '../../../kernel/ledger/chain.ts'
import { containsPrivateKey } from '../../../kernel/values/labels.ts'
import { present } from '../../../runtime/present.ts'
import { keyChanges, type WeaknessFinding, type WeaknessReport } from '../changes.ts'
import { visibleKeys } from '../introduction.ts'
import { findKeysByMaterial } from '../reads.ts'

/** The actor that other projects see: the caller may belong to a project that they must not know of. */
const anonymous: Actor = { name: 'pubring' }

/**
 * Blocks the public half of a submitted private key, and reports it to the ledger of the request and
 * to that of every project that has registered the key. Registered keys stay active: their owners
 * replace them. Idempotent. Returns the kids of the key in the project of the request, as far as the
 * caller may see them.
 *
 * @param projectId The project of the request, or that its API key is bound to; undefined: the system.
 */
async function recordExposure(
  { store, origin, principal }: RequestContext,
  projectId: string | undefined,
  exposed: ExposedKey,
): Promise<string[]> {
  const scope = present({ projectId })
  await store.commit(keyChanges.refusePrivateKey, { origin, ...scope, exposed })
  // Read after the commit: any key registered later is rejected as blocked.
  const keys = await findKeysByMaterial(store.reader, exposed.materialSha256)
  for (const key of keys) {
    const actor = key.projectId === projectId ? origin.actor : anonymous
    await reportWeaknesses(store, {
      ...key,
      origin: { ...origin, actor },
      weaknesses: ['key_known_compromised'],
      deactivate: false,
    })
  }
  const own = keys.filter((key) => key.projectId === projectId)
  return visibleKeys(own, principal.link).map(({ kid }) => kid)
}

/** Writes weaknesses of a key to its project's ledger; undefined if the key was deleted. */
export async function reportWeaknesses(
  store: Pick<Store, 'commit'>,
  report: WeaknessFinding,
): Promise<WeaknessReport | undefined> {
  try {
    return await store.commit(keyChanges.reportWeakness, report)
  } catch (error) {
    const gone = ['key_not_found', 'project_not_found']
    if (error instanceof PubringError && gone.includes(error.code)) return undefined
    throw error
  }
}

/**
 * Records the private key that intake found, if any. The verdict then also names the keys of this
 * project that it belongs to and the caller may see.
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
