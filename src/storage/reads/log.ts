import type { LogReads } from '../../core/log/records.ts'
import { present } from '../../runtime/present.ts'
import { columnsOf, type Db } from '../schema.ts'

export function createLogReads(db: Db): LogReads {
  return {
    async epoch(number) {
      const newest = db
        .selectFrom('log_epoch')
        .select(columnsOf('log_epoch'))
        .orderBy('epoch', 'desc')
        .limit(1)
      const query = number === undefined ? newest : newest.where('epoch', '=', number)
      const row = await query.executeTakeFirst()
      if (row === undefined) return undefined
      const { epoch, origin, size } = row
      return {
        epoch,
        origin,
        size,
        verifierKey: row.verifier_key,
        checkpointSize: row.checkpoint_size,
        ...(row.checkpoint === null ? {} : { checkpoint: row.checkpoint }),
      }
    },
    movedHeads: (epoch, page) => readMovedHeads(db, epoch, page),
    async tile(epoch, level, position) {
      const row = await db
        .selectFrom('log_tile')
        .select('hashes')
        .where('epoch', '=', epoch)
        .where('level', '=', level)
        .where('position', '=', position)
        .executeTakeFirst()
      return row?.hashes
    },
    async entries(epoch, { start, end }) {
      const rows = await db
        .selectFrom('log_entry')
        .select('content')
        .where('epoch', '=', epoch)
        .where('position', '>=', start)
        .where('position', '<', end)
        .orderBy('position')
        .execute()
      return rows.map(({ content }) => content)
    },
    async findEntry(epoch, ledgerId, { revision, before }) {
      const entries = db
        .selectFrom('log_entry')
        .innerJoin('log_ledger', 'log_ledger.ledger_id', 'log_entry.ledger_id')
        .select(['log_entry.position', 'log_entry.content', 'log_ledger.blinding'])
        .where('log_entry.ledger_id', '=', ledgerId)
        .where('log_entry.epoch', '=', epoch)
        .where('log_entry.position', '<', before)
        .limit(1)
      return revision === undefined
        ? entries.orderBy('log_entry.position', 'desc').executeTakeFirst()
        : entries
            .where('log_entry.revision', '>=', revision)
            .orderBy('log_entry.position')
            .executeTakeFirst()
    },
  }
}

async function readMovedHeads(
  db: Db,
  epoch: number,
  { after, limit }: { after: string; limit: number },
): ReturnType<LogReads['movedHeads']> {
  const end = await db
    .selectFrom('ledger')
    .select('project_id')
    .where('project_id', '>', after)
    .orderBy('project_id')
    .offset(limit - 1)
    .limit(1)
    .executeTakeFirst()
  const last = end?.project_id
  const heads = db
    .selectFrom('ledger')
    .leftJoin('log_ledger', 'log_ledger.ledger_id', 'ledger.project_id')
    .select(['ledger.project_id', 'ledger.revision', 'ledger.hash'])
    .where('ledger.project_id', '>', after)
    .where('ledger.revision', '>', 0)
    .where(({ eb, or, ref }) =>
      or([
        eb('log_ledger.hash', 'is', null),
        eb('log_ledger.hash', '<>', ref('ledger.hash')),
        eb('log_ledger.epoch', '<>', epoch),
      ]),
    )
    .orderBy('ledger.project_id')
  const rows = await (last === undefined
    ? heads
    : heads.where('ledger.project_id', '<=', last)
  ).execute()
  return {
    heads: rows.map(({ project_id: ledgerId, ...head }) => ({ ledgerId, ...head })),
    ...present({ last }),
  }
}
