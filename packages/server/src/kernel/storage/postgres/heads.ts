import type { Selectable } from 'kysely'
import { createBatchLoader } from '../../../async/batch-loader.ts'
import type { HeadFollower } from '../../context.ts'
import type { LedgerHead } from '../../records.ts'
import { headsMatch } from '../../values/validity.ts'
import type { LedgerHeads } from '../cached.ts'
import type { Tables } from '../schema.ts'
import type { Run } from './dialect.ts'

/** One array parameter instead of a list, so that the most frequent query is prepared only once. */
const sql = 'select project_id, revision, hash from ledger where project_id = any($1::text[])'

/** Returns only the heads that differ, since thousands are followed and few of them change. */
const changedSql = `select seen.id, ledger.revision, ledger.hash
  from unnest($1::text[], $2::text[]) as seen (id, hash)
  left join ledger on ledger.project_id = seen.id
  where ledger.hash is distinct from seen.hash`

type ChangedRow = { id: string } & (LedgerHead | { revision: null; hash: null })

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

/**
 * Made here because the driver would search each id and hash for characters to escape, and they have
 * none.
 */
const arrayOf = (items: Iterable<string>) => `{${[...items].map((item) => item || 'null').join()}}`

/** Has the database compare the heads with those that were read last. */
export function createHeadFollower(run: Run): HeadFollower {
  /** The hashes; empty before the first read, and if there is no such ledger. */
  const known = new Map<string, string>()
  return {
    follow: (ledgerId) => void known.set(ledgerId, ''),
    unfollow: (ledgerId) => void known.delete(ledgerId),
    async read() {
      const parameters = [arrayOf(known.keys()), arrayOf(known.values())]
      const { rows } = await run<ChangedRow>({ sql: changedSql, parameters })
      const heads = new Map<string, LedgerHead>()
      for (const { id, revision, hash } of rows) {
        if (!known.has(id)) continue
        known.set(id, hash ?? '')
        if (hash !== null) heads.set(id, { revision, hash })
      }
      return heads
    },
  }
}
