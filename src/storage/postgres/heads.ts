import type { Selectable } from 'kysely'
import { createBatchLoader } from '../../async/batch-loader.ts'
import type { LedgerHead } from '../../core/records.ts'
import { headsMatch } from '../../core/validity.ts'
import type { LedgerHeads } from '../reads/cached.ts'
import type { Tables } from '../schema.ts'
import type { Run } from './dialect.ts'

/** One array parameter instead of a list, so that the most frequent query is prepared only once. */
const sql = 'select project_id, revision, hash from ledger where project_id = any($1::text[])'

/** Reads the heads for each use. Concurrent callers share one query. */
export function createBatchedHeads(run: Run): LedgerHeads {
  const load = createBatchLoader(async (ledgerIds) => {
    const { rows } = await run<Selectable<Tables['ledger']>>({ sql, parameters: [ledgerIds] })
    const heads = new Map<string, LedgerHead>()
    for (const { project_id, revision, hash } of rows) heads.set(project_id, { revision, hash })
    return heads
  })
  return {
    heads: load,
    headsMatch: (seen) =>
      load(seen.map(({ ledgerId }) => ledgerId)).then((heads) => headsMatch(seen, heads)),
  }
}
