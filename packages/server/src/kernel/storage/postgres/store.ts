import type { Appliers } from '../../changes.ts'
import type { Snapshot, Store } from '../../context.ts'
import type { TakeCensus } from '../../feature.ts'
import { createContradictions, noteContradictions } from '../../ledger/contradictions.ts'
import { nameThrough, type People } from '../../ledger/event-reads.ts'
import type { LedgerHead } from '../../records.ts'
import { isStorageUnavailable } from '../../storage-faults.ts'
import { commonReads } from '../cached.ts'
import { ownMigrations } from '../migrations/index.ts'
import type { Db, Table } from '../schema.ts'
import { type PostgresAddress, parsePostgresAddress } from './address.ts'
import { createCommit } from './commit.ts'
import { openDatabase, type PostgresDatabase } from './database.ts'
import { createKysely } from './dialect.ts'
import { createBatchedHeads, createHeadFollower } from './heads.ts'
import { migratePostgres } from './migrate.ts'
import { explainStartError, prepareInBackground, waitUntilUsable } from './startup.ts'

/** Limit for counting the keys, which takes about a second per million: other statements end earlier. */
const countTimeoutMs = 60_000

/** Made of the features. */
interface StoreParts {
  appliers: Appliers
  takeCensus: TakeCensus
  tables: readonly Table[]
  people: People | undefined
}

/**
 * The store in a PostgreSQL database, 14 or later, which any number of processes can share. Brings
 * the schema up to date. Rejects with one line for a person if the database cannot be used.
 * `replicaUrl`: standbys of that server, from which published key sets may be read.
 */
export async function openPostgresStore(
  parts: StoreParts,
  url: string,
  replicaUrl?: string,
): Promise<Store> {
  const address = parsePostgresAddress(url)
  const database = openDatabase(address, 'primary')
  try {
    await waitUntilUsable(database)
    await migratePostgres(database, ownMigrations(parts.tables))
  } catch (error) {
    await database.close()
    throw explainStartError(error)
  }
  return createStore(parts, database, address, replicaUrl)
}

/** The same at once, even if the database cannot be reached yet. */
export function openPostgresServerStore(parts: StoreParts, url: string, replicaUrl?: string) {
  const address = parsePostgresAddress(url)
  const { database, prepared } = prepareInBackground(
    openDatabase(address, 'primary'),
    ownMigrations(parts.tables),
  )
  return { store: createStore(parts, database, address, replicaUrl), prepared }
}

function createStore(
  { appliers, takeCensus, tables, people }: StoreParts,
  database: PostgresDatabase,
  address: PostgresAddress,
  replicaUrl?: string,
): Store {
  const replica =
    replicaUrl === undefined ? undefined : openDatabase(parsePostgresAddress(replicaUrl), 'any')
  const contradictions = createContradictions()
  const readerOf = ({ read }: PostgresDatabase) => {
    const db = createKysely(read)
    noteContradictions(db, contradictions.note)
    nameThrough(db, people)
    return db
  }
  const reader = readerOf(database)
  const store: Store = {
    ...commonReads(reader, createBatchedHeads(database.read), tables),
    followHeads: () => createHeadFollower(database.read),
    ...createCommit(appliers, database, address),
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
      async newest(projectId, read) {
        const heads = await store.heads([projectId]).catch(ifUnavailable('unknown' as const))
        const head = heads === 'unknown' ? heads : heads.get(projectId)
        const found = await read(standby, projectId).catch(ifUnavailable(undefined))
        return found !== undefined && isCurrent(found, head) ? found : read(store.reader, projectId)
      },
      async read(read) {
        try {
          return await read(store.reader)
        } catch (error) {
          if (!isStorageUnavailable(error)) throw error
          return read(standby)
        }
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
