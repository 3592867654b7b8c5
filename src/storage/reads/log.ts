import type { Selectable } from 'kysely'
import { parseStored } from '../../core/damaged-keys.ts'
import { type EventChanges, systemLedgerId } from '../../core/ledger/chain.ts'
import type { LogReads, LogTree } from '../../core/log/records.ts'
import { present } from '../../runtime/present.ts'
import { columnsOf, type Db, type Tables } from '../schema.ts'

export function createLogReads(db: Db): LogReads {
  return {
    async tree(id) {
      const trees = db.selectFrom('log_tree').select(columnsOf('log_tree')).orderBy('id')
      const query =
        id === undefined ? trees.where('end_time', 'is', null) : trees.where('id', '=', id)
      const row = await query.limit(1).executeTakeFirst()
      return row && treeFromRow(row)
    },
    async startedAs() {
      const row = await db
        .selectFrom('event')
        .select('changes')
        .where('project_id', '=', systemLedgerId)
        .where('subject_id', '=', systemLedgerId)
        .where('type', '=', 'log.started')
        .orderBy('revision', 'desc')
        .limit(1)
        .executeTakeFirst()
      const changes: EventChanges = parseStored(row?.changes ?? '{}', {})
      return changes.origin?.to?.toString()
    },
    movedHeads: (page) => readMovedHeads(db, page),
    async tile(level, position) {
      const row = await db
        .selectFrom('log_tile')
        .select('hashes')
        .where('level', '=', level)
        .where('position', '=', position)
        .executeTakeFirst()
      return row?.hashes
    },
    async entries({ start, end }) {
      const rows = await db
        .selectFrom('log_entry')
        .select('content')
        .where('position', '>=', start)
        .where('position', '<', end)
        .orderBy('position')
        .execute()
      return rows.map(({ content }) => content)
    },
    async findEntry(ledgerId, { revision, before }) {
      const entries = db
        .selectFrom('log_entry')
        .innerJoin('log_ledger', 'log_ledger.ledger_id', 'log_entry.ledger_id')
        .select(['log_entry.position', 'log_entry.content', 'log_ledger.blinding'])
        .where('log_entry.ledger_id', '=', ledgerId)
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

function treeFromRow(row: Selectable<Tables['log_tree']>): LogTree {
  return {
    id: row.id,
    origin: row.origin,
    verifierKey: row.verifier_key,
    size: row.size,
    checkpointSize: row.checkpoint_size,
    ...present({
      checkpoint: row.checkpoint ?? undefined,
      endTime: row.end_time ?? undefined,
      nextOrigin: row.next_origin ?? undefined,
    }),
  }
}

async function readMovedHeads(
  db: Db,
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
      or([eb('log_ledger.hash', 'is', null), eb('log_ledger.hash', '<>', ref('ledger.hash'))]),
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
