import { projects } from '../../../kernel/access/stored-projects.ts'
import type { Outcome, Transaction } from '../../../kernel/changes.ts'
import type { EventChanges, NewEvent } from '../../../kernel/ledger/chain.ts'
import { isWithinRate } from '../../../kernel/ledger/event-rates.ts'
import {
  appendChange,
  lockProjectLedger,
  lockSystemLedger,
} from '../../../kernel/ledger/locked-ledger.ts'
import type { Db } from '../../../kernel/storage/schema.ts'
import type { PrivateKeyRefusal } from '../changes.ts'
import { block, fingerprintsOf } from './fingerprints.ts'

/** Incidents of one caller that a ledger records within a minute; further ones only block the key. */
const incidents = { type: 'private_key.refused', limit: 10 }

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
  const isRecorded = await isWithinRate(ledger, incidents)
  if (!isRecorded) return { result: undefined, changed: true }
  const event: NewEvent = {
    type: incidents.type,
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
