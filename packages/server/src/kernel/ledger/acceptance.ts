import { genesisHash } from '@pubring/client/internal/log/chain'
import type { Outcome } from '../storage/outcome.ts'
import { projectFromRow } from '../storage/row-mapping.ts'
import type { Db } from '../storage/schema.ts'
import { systemLedgerId } from './chain.ts'
import type { ChangeOf } from './changes.ts'
import {
  appendEvents,
  eventAbout,
  lockLedger,
  lockSystemLedger,
  type NewEvent,
} from './locked-ledger.ts'
import { createLedgerReads } from './reads.ts'
import { type EventfulName, recordedChanges, type SubjectRows } from './subjects.ts'

/**
 * Accepts a ledger and the rows that it accounts for as they are, broken or not: the head becomes that
 * of its last event, which an event of the system ledger records, and each row gets an event.
 * Verification starts there from now on.
 */
export async function acceptLedger(
  db: Db,
  { ledgerId, origin }: ChangeOf<'ledger.accept'>,
): Promise<Outcome<undefined>> {
  const isSystem = ledgerId === systemLedgerId
  // Waits for changes in progress.
  if ((await lockLedger(db, ledgerId)) === undefined) {
    const head = { project_id: ledgerId, revision: 0, hash: genesisHash }
    await db.insertInto('ledger').values(head).execute()
  }
  const last = await db
    .selectFrom('event')
    .select(['revision', 'hash'])
    .where('project_id', '=', ledgerId)
    .orderBy('revision', 'desc')
    .limit(1)
    .executeTakeFirst()
  const { revision, hash } = last ?? { revision: 0, hash: genesisHash }
  const ledger = { db, ledgerId, revision: revision + 1, previousHash: hash, origin }
  const accepted: NewEvent = {
    type: 'ledger.accepted',
    subject: { type: 'ledger', id: ledgerId },
    changes: { revision: { to: revision }, hash: { to: hash } },
  }
  const rows = await createLedgerReads(db).ledgerRows(ledgerId, () => [])
  if (isSystem) {
    const projects = await db.selectFrom('project').selectAll().execute()
    const records = projects.map((row) => projectFromRow({ ...row, revision: 0 }))
    await appendEvents(ledger, [
      accepted,
      ...recordedEvents('project', records),
      ...recordedEvents('api_key', rows.api_key),
      ...recordedEvents('session', rows.session),
      ...recordedEvents('access_rule', rows.access_rule),
    ])
    return { result: undefined, changed: true }
  }
  // These API keys are valid for minutes: a workload with a right to one exchanges a token again.
  for (const { id } of rows.api_key) await db.deleteFrom('api_key').where('id', '=', id).execute()
  const [project = projectDeleted(ledgerId)] = recordedEvents('project', rows.project)
  const keys = recordedEvents('key', rows.key)
  await appendEvents(ledger, [project, ...keys, ...recordedEvents('rotation', rows.rotation)])
  await appendEvents(await lockSystemLedger(db, origin), [accepted, project])
  return { result: undefined, changed: true }
}

function projectDeleted(id: string): NewEvent {
  return eventAbout('project.deleted', id, {})
}

function recordedEvents<Name extends EventfulName>(
  name: Name,
  rows: readonly SubjectRows[Name][],
): NewEvent[] {
  return rows.map((row) =>
    eventAbout(`${name}.recorded`, row.id, recordedChanges(name, undefined, row)),
  )
}
