import type { Selectable } from 'kysely'
import { createBatchLoader } from '../../../async/single-flight.ts'
import type { Appliers } from '../../changes.ts'
import type { HeadFollower, Snapshot, Store } from '../../context.ts'
import { isStorageUnavailable } from '../../faults.ts'
import type { TakeCensus } from '../../feature.ts'
import { createContradictions, noteContradictions } from '../../ledger/contradictions.ts'
import { type ActorNames, nameThrough } from '../../ledger/event-reads.ts'
import type { CurrentHead, LedgerHead } from '../../records.ts'
import { headsMatch } from '../../values/validity.ts'
import { commonReads, type LedgerHeads } from '../cached.ts'
import { failed, readEach } from '../each.ts'
import { ownMigrations } from '../migrations/index.ts'
import type { Db, Table, Tables } from '../schema.ts'
import { type PostgresAddress, parsePostgresAddress } from './address.ts'
import { createDatabaseClock, type DatabaseClock, readingSql } from './clock.ts'
import { createCommit } from './commit.ts'
import { createKysely, openDatabase, type PostgresDatabase, type Run } from './database.ts'
import { migratePostgres } from './migrate.ts'
import { explainStartError, prepareInBackground, waitUntilUsable } from './startup.ts'

/** Limit for counting the keys, which takes about a second per million: other statements end earlier. */
const countTimeoutMs = 60_000

/** Made of the features. */
interface StoreParts {
  appliers: Appliers
  takeCensus: TakeCensus
  tables: readonly Table[]
  names: ActorNames
}

/**
 * The store in a PostgreSQL database, 14 or later, which any number of processes can share. Brings
 * the schema up to date. Rejects with one line for a person if the database cannot be used.
 * `onWait` gets what a migration waits for.
 */
export async function openPostgresStore(
  parts: StoreParts,
  url: string,
  onWait?: (cause: string) => void,
): Promise<Store> {
  const address = parsePostgresAddress(url)
  const database = openDatabase(address, 'primary')
  try {
    await waitUntilUsable(database)
    await migratePostgres(database, ownMigrations, onWait)
    const clock = createDatabaseClock()
    await readClock(database.read, clock)
    return createStore(parts, { database, address, clock })
  } catch (error) {
    await database.close()
    throw explainStartError(error)
  }
}

/**
 * Opens the store at once, even if the database cannot be reached yet. `replicaUrl`: standbys of that
 * server, from which published key sets may be read.
 */
export function openPostgresServerStore(parts: StoreParts, url: string, replicaUrl?: string) {
  const address = parsePostgresAddress(url)
  const clock = createDatabaseClock()
  const { database, prepared } = prepareInBackground(
    openDatabase(address, 'primary'),
    async (raw, onWait) => {
      await migratePostgres(raw, ownMigrations, onWait)
      await readClock(raw.read, clock)
    },
  )
  return { store: createStore(parts, { database, address, clock }, replicaUrl), prepared }
}

interface Opened {
  database: PostgresDatabase
  address: PostgresAddress
  clock: DatabaseClock
}

function createStore(
  { appliers, takeCensus, tables, names }: StoreParts,
  { database, address, clock }: Opened,
  replicaUrl?: string,
): Store {
  const replica =
    replicaUrl === undefined ? undefined : openDatabase(parsePostgresAddress(replicaUrl), 'any')
  const contradictions = createContradictions()
  const readerOf = ({ read }: PostgresDatabase) => {
    const db = createKysely(read)
    noteContradictions(db, contradictions.note)
    nameThrough(db, names)
    return db
  }
  const reader = readerOf(database)
  const store: Store = {
    ...commonReads(reader, createBatchedHeads(database.read), tables),
    clock,
    followHeads: () => createHeadFollower(database.read, clock),
    ...createCommit({ appliers, clock }, database, address),
    census: (time) =>
      database.inTransaction({ timeoutMs: countTimeoutMs }, (db) => takeCensus(db, time)),
    contradictions,
    diagnostics: () => database.diagnostics(),
    async close() {
      await Promise.all([database.close(), replica?.close()])
    },
  }
  return replica === undefined ? store : withReplicaReads(store, readerOf(replica))
}

/**
 * Reads published key sets from a standby. The current revision comes from the primary, in one query
 * for all projects, so a standby that lags behind never serves a revoked key: while it is behind or
 * unavailable the key set is read from the primary. While the primary is unavailable, the standby
 * alone is read.
 */
function withReplicaReads(store: Store, standby: Db): Store {
  return {
    ...store,
    published: {
      heads: (ids) => store.heads(ids),
      async newest(projectIds, read) {
        const heads = await store.heads(projectIds).catch(ifUnavailable('unknown' as const))
        const found = await readEach(projectIds, (some) => read(standby, some)).catch(
          ifUnavailable(new Map<string, never>()),
        )
        for (const [id, one] of found) {
          const head = heads === 'unknown' ? heads : heads.get(id)
          if (one instanceof Error || !isCurrent(one, head)) found.delete(id)
        }
        const missing = projectIds.filter((id) => !found.has(id))
        if (missing.length === 0) return found
        const others = await store.published.newest(missing, read).catch((error) => {
          if (isStorageUnavailable(error)) return failed(missing, error)
          throw error
        })
        return new Map([...found, ...others])
      },
    },
  }
}

/**
 * A higher revision is current: the standby has a change that was made after the head was read. The
 * same revision with another hash belongs to a history that a fail-over has discarded.
 */
function isCurrent(found: Snapshot, head: LedgerHead | 'unknown' | undefined): boolean {
  if (head === 'unknown') return true
  if (head === undefined) return false
  return found.revision > head.revision || found.head === head.hash
}

function ifUnavailable<Substitute>(substitute: Substitute) {
  return (error: unknown): Substitute => {
    if (isStorageUnavailable(error)) return substitute
    throw error
  }
}

/** One array parameter instead of a list, so that the most frequent query is prepared only once. */
const sql =
  'select project_id, revision, hash, eventless_time from ledger where project_id = any($1::text[])'

/**
 * Returns a reading of the clock, with only the heads that differ: thousands are followed, and few of them
 * change.
 */
const changedSql = `select * from (select ${readingSql} as reading) as clock
  left join (
    select seen.id, ledger.revision, ledger.hash
    from unnest($1::text[], $2::text[]) as seen (id, hash)
    left join ledger on ledger.project_id = seen.id
    where ledger.hash is distinct from seen.hash
  ) as changed on true`

/** Without an id if no head differs. */
type ChangedRow = { reading: number; id: string | null } & (
  | LedgerHead
  | { revision: null; hash: null }
)

async function readClock(run: Run, clock: DatabaseClock): Promise<void> {
  await createHeadFollower(run, clock).read()
}

/** Reads the heads for each use. Concurrent callers share one query. */
function createBatchedHeads(run: Run): LedgerHeads {
  const load = createBatchLoader(async (ledgerIds) => {
    const { rows } = await run<Selectable<Tables['ledger']>>({ sql, parameters: [ledgerIds] })
    const heads = new Map<string, CurrentHead>()
    for (const { project_id, revision, hash, eventless_time: eventlessTime } of rows) {
      heads.set(project_id, { revision, hash, eventlessTime })
    }
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

/** Has the database compare the heads with those that were read last, and reads its clock. */
function createHeadFollower(run: Run, clock: DatabaseClock): HeadFollower {
  /** The hashes; empty before the first read, and if there is no such ledger. */
  const known = new Map<string, string>()
  return {
    follow: (ledgerId) => void known.set(ledgerId, ''),
    unfollow: (ledgerId) => void known.delete(ledgerId),
    async read() {
      const parameters = [arrayOf(known.keys()), arrayOf(known.values())]
      const sentAt = clock.monotonic()
      const { rows } = await run<ChangedRow>({ sql: changedSql, parameters })
      for (const { reading } of rows.slice(0, 1)) clock.observe(reading, sentAt)
      const heads = new Map<string, LedgerHead>()
      for (const { id, revision, hash } of rows) {
        if (id === null || !known.has(id)) continue
        known.set(id, hash ?? '')
        if (hash !== null) heads.set(id, { revision, hash })
      }
      return heads
    },
  }
}
