import type { Outcome, Transaction } from '../../kernel/changes.ts'
import type { EventChanges } from '../../kernel/ledger/chain.ts'
import { appendChange, lockSystemLedger } from '../../kernel/ledger/locked-ledger.ts'
import type { RowOf } from '../../kernel/storage/schema.ts'
import { insertion, replacement } from '../../kernel/storage/statements.ts'
import { present } from '../../runtime/present.ts'
import type { LogAppend, LogPublication, LogStart } from './changes.ts'
import { readTree } from './reads.ts'
import { type logEntryTable, logLedgerTable, logSlotTable, logTileTable } from './stored.ts'

const insertEntries = insertion('log_entry')
const putLedgers = replacement(logLedgerTable)
const putTiles = replacement(logTileTable)
const putSlots = replacement(logSlotTable)

/**
 * Starts a tree in place of the previous one, whose entries are deleted, unless another process has
 * started one.
 */
export async function startLog(
  tx: Transaction,
  { tree, previous, origin }: LogStart,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const ledger = await lockSystemLedger(tx, origin)
  const running = await readTree(db)
  if (running?.id !== previous?.id) return { result: undefined, changed: false }
  if (previous !== undefined) {
    for (const table of ['log_entry', 'log_tile', 'log_slot', 'log_ledger'] as const) {
      await db.deleteFrom(table).execute()
    }
    await db
      .updateTable('log_tree')
      .set({ end_time: origin.time, next_origin: tree.origin })
      .where('end_time', 'is', null)
      .execute()
  }
  const { id, verifierKey } = tree
  await db
    .insertInto('log_tree')
    .values({ id, origin: tree.origin, verifier_key: verifierKey, size: 0, checkpoint_size: 0 })
    .execute()
  const changes: EventChanges = {
    origin: { ...present({ from: previous?.origin }), to: tree.origin },
    verifierKey: { to: verifierKey },
    ...(previous?.size === undefined ? {} : { size: { from: previous.size } }),
    ...(previous?.hash === undefined ? {} : { hash: { from: previous.hash } }),
  }
  const subject = { type: 'registry', id: ledger.ledgerId } as const
  return appendChange(ledger, { type: 'log.started', subject, changes })
}

/** The update of the size locks the row until the transaction ends: one process appends at a time. */
export async function appendToLog(
  { db }: Transaction,
  { id, size, notSince, time, entries, heads, tiles }: LogAppend,
): Promise<Outcome<boolean>> {
  const added = entries.length + Number(heads !== undefined)
  const locked = await db
    .updateTable('log_tree')
    .set({ size: size + added, ...(entries.length > 0 && { append_time: time }) })
    .where('id', '=', id)
    .where('end_time', 'is', null)
    .where('size', '=', size)
    .where(({ eb, or }) =>
      or([
        eb('append_time', 'is', null),
        eb('append_time', '<=', notSince),
        // The clock was set back.
        eb('append_time', '>', time),
      ]),
    )
    .returning('id')
    .executeTakeFirst()
  if (locked === undefined) return { result: false, changed: false }
  const rows: RowOf<typeof logEntryTable>[] = entries.map((entry, index) => {
    const { ledgerId: ledger_id, revision, content } = entry
    return { position: size + index, ledger_id, revision, content }
  })
  if (heads !== undefined) {
    rows.push({ position: size + entries.length, ledger_id: null, revision: null, content: heads })
  }
  await insertEntries(db, rows)
  const ledgers = entries.map(({ ledgerId, blinding, revision, hash, list }) => {
    return { ledger_id: ledgerId, blinding, revision, hash, list }
  })
  await putLedgers(db, ledgers)
  await putTiles(db, tiles)
  return { result: true, changed: true }
}

/** Checkpoints are published in the order of their sizes, each with the map of last heads that it has. */
export async function publishCheckpoint(
  { db }: Transaction,
  { id, from, size, checkpoint, tiles, slots }: LogPublication,
): Promise<Outcome<boolean>> {
  const published = await db
    .updateTable('log_tree')
    .set({ checkpoint, checkpoint_size: size })
    .where('id', '=', id)
    .where('end_time', 'is', null)
    .where('size', '>=', size)
    .where('checkpoint_size', '=', from)
    .returning('id')
    .executeTakeFirst()
  if (published === undefined) return { result: false, changed: false }
  await putTiles(db, tiles)
  await putSlots(db, slots)
  return { result: true, changed: true }
}
