import type { Selectable } from 'kysely'
import { createBatchLoader } from '../../async/batch-loader.ts'
import type { LedgerHead } from '../../core/records.ts'
import { headsMatch } from '../../core/validity.ts'
import type { LedgerHeads } from '../heads.ts'
import type { Tables } from '../schema.ts'
import type { Run } from './dialect.ts'

/** One text for any number of ledgers, so that it is prepared once: nothing is run more often. */
const sql = 'select project_id, revision, hash from ledger where project_id = any($1::text[])'

/** LedgerHeads read anew for each use, by one query at a time for everybody who waits. */
export function createBatchedHeads(run: Run): LedgerHeads {
  const lookUp = createBatchLoader(async (ledgerIds) => {
    const { rows } = await run<Selectable<Tables['ledger']>>({ sql, parameters: [ledgerIds] })
    const heads = new Map<string, LedgerHead>()
    for (const { project_id, revision, hash } of rows) heads.set(project_id, { revision, hash })
    return heads
  })
  return {
    heads: lookUp,
    headsMatch: (seen) =>
      lookUp(seen.map(({ ledgerId }) => ledgerId)).then((heads) => headsMatch(seen, heads)),
  }
}
