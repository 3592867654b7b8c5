import { genesisHash } from '@pubring/client/internal/log/chain'
import type { Outcome, Transaction } from './changes.ts'
import { type LedgerAcceptance, projectAccepted } from './kernel-changes.ts'
import { type NewEvent, systemLedgerId } from './ledger/chain.ts'
import { appendEvents, lockLedger, lockSystemLedger } from './ledger/locked-ledger.ts'

export { touchCredentials } from './access/last-uses.ts'

/**
 * Accepts a ledger and the rows that it accounts for as they are, broken or not: the head becomes that
 * of its last event, which an event of the system ledger records, and each row gets an event.
 * Verification starts there from now on.
 */
export async function acceptLedger(
  tx: Transaction,
  { ledgerId, origin }: LedgerAcceptance,
): Promise<Outcome<undefined>> {
  const { db, subjects } = tx
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
  const recorded: NewEvent[] = []
  for (const { accept } of subjects) recorded.push(...(await accept(db, ledgerId)))
  if (ledgerId === systemLedgerId) {
    await appendEvents(ledger, [accepted, ...recorded])
  } else {
    const [published] = await tx.hooks.run(projectAccepted, tx, ledgerId, origin.time)
    await appendEvents(ledger, recorded, published)
    const ofProject = recorded.filter(({ subject }) => subject.type === 'project')
    await appendEvents(await lockSystemLedger(tx, origin), [accepted, ...ofProject])
  }
  return { result: undefined, changed: true }
}

/** A change that writes to the disk and leaves nothing behind. */
export async function tryStorage({ db }: Transaction): Promise<Outcome<undefined>> {
  const trial = { project_id: 'trial', revision: 0, hash: genesisHash }
  await db.insertInto('ledger').values(trial).execute()
  await db.deleteFrom('ledger').where('project_id', '=', trial.project_id).execute()
  return { result: undefined, changed: true }
}
