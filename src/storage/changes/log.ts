import type { EventChanges } from '../../core/ledger/chain.ts'
import type { ChangeOf } from '../../core/ledger/changes.ts'
import { present } from '../../runtime/present.ts'
import { createLogReads } from '../reads/log.ts'
import type { Db } from '../schema.ts'
import { chunked } from '../statements.ts'
import { appendEvents, lockSystemLedger } from './ledger.ts'
import type { Outcome } from './outcome.ts'

/** Starts a tree, unless another process has started one after the previous one. */
export async function startLog(
  db: Db,
  { epoch, name, previous, verifierKey, origin }: ChangeOf<'log.start'>,
): Promise<Outcome<undefined>> {
  const ledger = await lockSystemLedger(db, origin)
  const newest = await createLogReads(db).epoch()
  if (newest?.origin !== previous) return { result: undefined, changed: false }
  await db
    .insertInto('log_epoch')
    .values({ epoch, origin: name, verifier_key: verifierKey, size: 0, checkpoint_size: 0 })
    .execute()
  const changes: EventChanges = {
    origin: { ...present({ from: previous }), to: name },
    verifierKey: { to: verifierKey },
  }
  const subject = { type: 'registry', id: ledger.ledgerId } as const
  await appendEvents(db, ledger, origin, [{ type: 'log.started', subject, changes }])
  return { result: undefined, changed: true }
}

/** The update of the size locks the row until the transaction ends: one process appends at a time. */
export async function appendToLog(
  db: Db,
  { epoch, size, notSince, time, entries, tiles }: ChangeOf<'log.append'>,
): Promise<Outcome<boolean>> {
  const locked = await db
    .updateTable('log_epoch')
    .set({ size: size + entries.length, append_time: time })
    .where('epoch', '=', epoch)
    .where('size', '=', size)
    .where(({ eb, or }) =>
      or([
        eb('append_time', 'is', null),
        eb('append_time', '<=', notSince),
        // The clock was set back.
        eb('append_time', '>', time),
      ]),
    )
    .returning('epoch')
    .executeTakeFirst()
  if (locked === undefined) return { result: false, changed: false }
  const rows = entries.map(({ ledgerId, revision, content }, index) => {
    return { epoch, position: size + index, ledger_id: ledgerId, revision, content }
  })
  for (const chunk of chunked(rows)) await db.insertInto('log_entry').values(chunk).execute()
  const heads = entries.map(({ ledgerId, blinding, hash }) => {
    return { ledger_id: ledgerId, blinding, epoch, hash }
  })
  for (const chunk of chunked(heads)) {
    await db
      .insertInto('log_ledger')
      .values(chunk)
      .onConflict((conflict) =>
        conflict.column('ledger_id').doUpdateSet(({ ref }) => ({
          blinding: ref('excluded.blinding'),
          epoch: ref('excluded.epoch'),
          hash: ref('excluded.hash'),
        })),
      )
      .execute()
  }
  for (const { level, position, hashes } of tiles) {
    await db
      .insertInto('log_tile')
      .values({ epoch, level, position, hashes })
      .onConflict((conflict) =>
        conflict.columns(['epoch', 'level', 'position']).doUpdateSet({ hashes }),
      )
      .execute()
  }
  return { result: true, changed: true }
}

/** Checkpoints are published in the order of their sizes. */
export async function publishCheckpoint(
  db: Db,
  { epoch, size, checkpoint }: ChangeOf<'log.publish'>,
): Promise<Outcome<undefined>> {
  await db
    .updateTable('log_epoch')
    .set({ checkpoint, checkpoint_size: size })
    .where('epoch', '=', epoch)
    .where('size', '>=', size)
    .where('checkpoint_size', '<=', size)
    .execute()
  return { result: undefined, changed: true }
}
