import type { Kysely } from 'kysely'
import { projectNotFound } from '../../core/access.ts'
import { incidentLookbackEvents, isWithinIncidentLimit } from '../../core/keys/incidents.ts'
import { systemLedgerId } from '../../core/ledger/chain.ts'
import type { ChangeOf, Origin } from '../../core/ledger/changes.ts'
import type { Tables } from '../schema.ts'
import type { Outcome } from './apply.ts'
import { blockFingerprints } from './fingerprints.ts'
import { appendEvent, type LockedLedger, lockLedger, restoreRevision } from './ledger.ts'

type Db = Kysely<Tables>

/**
 * Blocks the public half of a private key that somebody submitted, and says so in the ledger, the
 * first time and within bounds. All that is known and kept of the key are hashes of its public half.
 */
export async function refusePrivateKey(
  db: Db,
  { projectId, exposed, origin }: ChangeOf<'private_key.refuse'>,
): Promise<Outcome<undefined>> {
  const { time, actor, requestId } = origin
  const ledgerId = projectId ?? systemLedgerId
  const head = await lockLedger(db, ledgerId)
  if (head === undefined) throw projectNotFound()
  if (!(await blockFingerprints(db, exposed, time))) return { result: undefined, changed: false }
  if (!isWithinIncidentLimit(await earlierRefusals(db, head, actor), time)) {
    await restoreRevision(db, head)
    return { result: undefined, changed: true }
  }
  await appendEvent(db, head, {
    type: 'private_key.refused',
    time,
    actor,
    subject: { type: projectId === undefined ? 'registry' : 'project', id: ledgerId },
    changes: { thumbprint: { to: exposed.thumbprint } },
    requestId,
  })
  return { result: undefined, changed: true }
}

/** When the same API key was refused before, near the end of the ledger. */
async function earlierRefusals(
  db: Db,
  { ledgerId, revision }: LockedLedger,
  { apiKeyId }: Origin['actor'],
): Promise<string[]> {
  if (apiKeyId === undefined) return []
  const rows = await db
    .selectFrom('event')
    .select('time')
    .where('project_id', '=', ledgerId)
    .where('revision', '>=', revision - incidentLookbackEvents)
    .where('type', '=', 'private_key.refused')
    .where('actor_id', '=', apiKeyId)
    .execute()
  return rows.map(({ time }) => time)
}
