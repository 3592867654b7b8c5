import type { ExposedKey } from '@pubring/intake'
import { PubringError } from '../../../errors.ts'
import type { RequestContext } from '../../../kernel/access/principal.ts'
import type { Store } from '../../../kernel/context.ts'
import type { Actor } from '../../../kernel/ledger/chain.ts'
import { present } from '../../../runtime/present.ts'
import { keyChanges, type WeaknessFinding, type WeaknessReport } from '../changes.ts'
import { findKeysByMaterial } from '../reads.ts'

/** The actor that other projects see: the caller may belong to a project that they must not know of. */
const anonymous: Actor = { name: 'pubring' }

/**
 * Blocks the public half of a submitted private key, and reports it to the ledger of the request and
 * to that of every project that has registered the key. Registered keys stay active: their owners
 * replace them. Idempotent. Returns the kids of the key in the project of the request.
 *
 * @param projectId The project of the request, or that its API key is bound to; undefined: the system.
 */
export async function recordExposure(
  { store, origin }: RequestContext,
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
  return keys.filter((key) => key.projectId === projectId).map(({ kid }) => kid)
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

/** Incidents of one API key that a ledger records within the time; further ones only block the key. */
const maxIncidents = 10
const incidentWindowMs = 60_000

/** Events at the end of a ledger that are searched for earlier incidents. */
export const incidentLookbackEvents = 100

/**
 * Whether an incident becomes an event, by the times of earlier ones of the same API key near the end
 * of the ledger. Without this limit, made-up private keys could fill the ledger and raise its
 * revision with every request.
 */
export function isWithinIncidentLimit(earlier: readonly string[], time: string): boolean {
  // Also not long after: the clock may have been set back since.
  const isRecent = (each: string) =>
    Math.abs(Date.parse(time) - Date.parse(each)) < incidentWindowMs
  return earlier.filter(isRecent).length < maxIncidents
}
