import { PubringError } from '../../errors.ts'
import type { ExposedKey } from '../../intake/types.ts'
import type { Principal } from '../access.ts'
import type { Store } from '../context.ts'
import type { Origin } from '../ledger/changes.ts'

/** A private key that was submitted: who did it, and the ledger that it is told to. */
export interface Incident {
  /** The project that the request is about, or that the API key is bound to; else the system's. */
  projectId?: string
  origin: Origin
}

/** Of a request that is about no project, or about one that is not there yet. */
export function incidentOf({ projectId }: Principal, origin: Origin): Incident {
  return projectId === undefined ? { origin } : { origin, projectId }
}

/**
 * Who is named to the owner of a key whose private half turned up elsewhere: nobody, since that
 * may be somebody of another project.
 */
const anonymous: Origin['actor'] = { name: 'pubring' }

/**
 * Blocks the public half of a private key that was submitted, tells the ledger, and then the ledger
 * of every project that has registered this key: it is theirs to replace, and is left as it is. Can
 * be repeated; what is told already is not told again. Answers the keys of the incident's project.
 */
export async function recordExposure(
  store: Store,
  incident: Incident,
  exposed: ExposedKey,
): Promise<string[]> {
  await store.commit({ type: 'private_key.refuse', ...incident, exposed })
  // Asked after the commit: a key that is not here by now is refused by what has been blocked.
  const keys = await store.findKeysByMaterial(exposed.materialSha256)
  for (const key of keys) await reportKey(store, incident, key)
  return keys.filter(({ projectId }) => projectId === incident.projectId).map(({ kid }) => kid)
}

async function reportKey(
  store: Store,
  { origin, ...incident }: Incident,
  { projectId, kid }: { projectId: string; kid: string },
): Promise<void> {
  const actor = projectId === incident.projectId ? origin.actor : anonymous
  await store
    .commit({
      type: 'key.report_weakness',
      origin: { ...origin, actor },
      projectId,
      kid,
      weaknesses: ['key_known_compromised'],
      deactivate: false,
    })
    .catch(unlessGone)
}

function unlessGone(error: unknown): undefined {
  const gone = ['key_not_found', 'project_not_found']
  if (error instanceof PubringError && gone.includes(error.code)) return undefined
  throw error
}

/** Refusals that one API key may add to a ledger within the time; what is beyond is only blocked. */
const maxNoted = 10
const notedWithin = 60_000

/** Events at a ledger's end that are looked through for refusals. */
export const incidentLookbackEvents = 100

/**
 * Whether a refusal becomes an event, by the times of the earlier ones by the same API key near the
 * end of the ledger: who makes up private keys must not fill the ledger, nor raise its revision at
 * every request. Their public halves are blocked all the same.
 */
export function isWithinIncidentLimit(earlier: readonly string[], time: string): boolean {
  const since = Date.parse(time) - notedWithin
  return earlier.filter((each) => Date.parse(each) > since).length < maxNoted
}
