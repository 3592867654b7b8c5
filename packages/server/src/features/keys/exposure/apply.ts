import { projects } from '../../../kernel/access/stored-projects.ts'
import type { Outcome, Transaction } from '../../../kernel/changes.ts'
import { changerOf, type EventChanges, type NewEvent } from '../../../kernel/ledger/chain.ts'
import {
  appendChange,
  type LockedLedger,
  lockProjectLedger,
  lockSystemLedger,
} from '../../../kernel/ledger/locked-ledger.ts'
import { eventFromRow } from '../../../kernel/ledger/stored.ts'
import type { Db } from '../../../kernel/storage/schema.ts'
import type { PrivateKeyRefusal } from '../changes.ts'
import { block, fingerprintsOf } from './fingerprints.ts'

/**
 * Blocks the public key of a submitted private key. The first submission is recorded in the ledger,
 * up to a rate limit per caller. Only hashes of the public key are stored.
 */
export async function refusePrivateKey(
  tx: Transaction,
  { projectId, exposed, origin }: PrivateKeyRefusal,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const { time } = origin
  const ledger = await (projectId === undefined
    ? lockSystemLedger(tx, origin)
    : lockProjectLedger(tx, projectId, origin))
  if (!(await block(db, fingerprintsOf(exposed), time)))
    return { result: undefined, changed: false }
  const isRecorded = isWithinIncidentLimit(await readEarlierTimes(ledger), time)
  if (!isRecorded) return { result: undefined, changed: true }
  const event: NewEvent = {
    type: 'private_key.refused',
    subject: { type: projectId === undefined ? 'registry' : 'project', id: ledger.ledgerId },
    changes: {
      thumbprint: { to: exposed.thumbprint },
      materialSha256: { to: exposed.materialSha256 },
      ...(await readProjectState(db, projectId)),
    },
  }
  return appendChange(ledger, event)
}

/** The project as it is, since this is the last event about it. */
async function readProjectState(db: Db, projectId: string | undefined): Promise<EventChanges> {
  if (projectId === undefined) return {}
  const project = await projects.find(db, projectId)
  return project === undefined || project.contradicted ? {} : projects.state(project)
}

/** Times of such events by the same caller, near the end of the ledger. */
async function readEarlierTimes(ledger: LockedLedger): Promise<string[]> {
  const { db, ledgerId, revision } = ledger
  const caller = changerOf(ledger.origin.actor)
  const rows = await db
    .selectFrom('event')
    .selectAll()
    .where('project_id', '=', ledgerId)
    .where('revision', '>=', revision - incidentLookbackEvents)
    .where('type', '=', 'private_key.refused')
    .execute()
  return rows
    .map(eventFromRow)
    .filter(({ actor }) => changerOf(actor) === caller)
    .map(({ time }) => time)
}

/** Incidents of one caller that a ledger records within the time; further ones only block the key. */
const maxIncidents = 10
const incidentWindowMs = 60_000

/** Events at the end of a ledger that are searched for earlier incidents. */
const incidentLookbackEvents = 100

/**
 * Whether an incident becomes an event, by the times of earlier ones of the same caller near the end
 * of the ledger. Without this limit, made-up private keys could fill the ledger and raise its
 * revision with every request.
 */
function isWithinIncidentLimit(earlier: readonly string[], time: string): boolean {
  // Also not long after: the clock may have been set back since.
  const isRecent = (each: string) =>
    Math.abs(Date.parse(time) - Date.parse(each)) < incidentWindowMs
  return earlier.filter(isRecent).length < maxIncidents
}
