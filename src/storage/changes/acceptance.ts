import { genesisHash } from '../../../client/src/log/chain.ts'
import { type EventType, systemLedgerId } from '../../core/ledger/chain.ts'
import type { ChangeOf } from '../../core/ledger/changes.ts'
import type { LedgerRows } from '../../core/ledger/replay.ts'
import { type EventfulName, recordedChanges, type SubjectRows } from '../../core/ledger/subjects.ts'
import { createLedgerReads } from '../reads/ledger.ts'
import { projectFromRow } from '../row-mapping.ts'
import type { Db } from '../schema.ts'
import { appendEvents, lockLedger, lockSystemLedger, type NewEvent } from './ledger.ts'
import type { Outcome } from './outcome.ts'

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
    await appendEvents(ledger, [
      accepted,
      ...projects.map((row) => recordedEvent('project', projectFromRow({ ...row, revision: 0 }))),
      ...recordedGrants(rows),
    ])
    return { result: undefined, changed: true }
  }
  // They live for minutes: who has a right to one exchanges a token again.
  for (const { id } of rows.api_key) await db.deleteFrom('api_key').where('id', '=', id).execute()
  const [project = projectDeleted(ledgerId)] = rows.project.map((row) =>
    recordedEvent('project', row),
  )
  const keys = rows.key.map((row) => recordedEvent('key', row))
  const rotations = rows.rotation.map((row) => recordedEvent('rotation', row))
  await appendEvents(ledger, [project, ...keys, ...rotations])
  await appendEvents(await lockSystemLedger(db, origin), [accepted, project])
  return { result: undefined, changed: true }
}

/** Events about all rows that the system's ledger accounts for. */
function recordedGrants(rows: LedgerRows): NewEvent[] {
  return [
    ...rows.api_key.map((row) => recordedEvent('api_key', row)),
    ...rows.session.map((row) => recordedEvent('session', row)),
    ...rows.access_rule.map((row) => recordedEvent('access_rule', row)),
  ]
}

function projectDeleted(id: string): NewEvent {
  return { type: 'project.deleted', subject: { type: 'project', id }, changes: {} }
}

function recordedEvent<Name extends EventfulName>(name: Name, row: SubjectRows[Name]): NewEvent {
  const type: EventType = `${name}.recorded`
  return {
    type,
    subject: { type: name, id: row.id },
    changes: recordedChanges(name, undefined, row),
  }
}
