import type { Store } from '../../core/context.ts'
import { createContradictions } from '../../core/ledger/contradictions.ts'
import type { Census } from '../../core/records.ts'
import { createCachedReads } from '../reads/cached.ts'
import { takeCensus } from '../reads/census.ts'
import { createStoreReads } from '../reads/store.ts'
import { type PostgresAddress, parsePostgresAddress } from './address.ts'
import { createCommit } from './commit.ts'
import { openDatabase, type PostgresDatabase } from './database.ts'
import { createKysely } from './dialect.ts'
import { createBatchedHeads, createHeadFollower } from './heads.ts'
import { migratePostgres } from './migrate.ts'
import { withReplicaReads } from './replica-reads.ts'
import { explainStartError, prepareInBackground, waitUntilUsable } from './startup.ts'

/** Limit for counting the keys, which takes about a second per million. */
const countTimeoutMs = 60_000

/**
 * The store in a PostgreSQL database, 14 or later, which any number of processes can share. Brings
 * the schema up to date. Rejects with one line for a person if the database cannot be used.
 * `replicaUrl`: standbys of that server, from which published key sets may be read.
 */
export async function openPostgresStore(url: string, replicaUrl?: string): Promise<Store> {
  const address = parsePostgresAddress(url)
  const database = openDatabase(address, 'primary')
  try {
    await waitUntilUsable(database)
    await migratePostgres(database)
  } catch (error) {
    await database.close()
    throw explainStartError(error)
  }
  return createStore(database, address, replicaUrl)
}

/** The same at once, even if the database cannot be reached yet. */
export function openPostgresServerStore(url: string, replicaUrl: string | undefined) {
  const address = parsePostgresAddress(url)
  const { database, prepared } = prepareInBackground(openDatabase(address, 'primary'))
  return { store: createStore(database, address, replicaUrl), prepared }
}

function createStore(
  database: PostgresDatabase,
  address: PostgresAddress,
  replicaUrl?: string,
): Store {
  const replica =
    replicaUrl === undefined ? undefined : openDatabase(parsePostgresAddress(replicaUrl), 'any')
  const contradictions = createContradictions()
  const readsOf = ({ read }: PostgresDatabase) =>
    createStoreReads(createKysely(read), contradictions.note)
  const reads = readsOf(database)
  const store: Store = {
    ...reads,
    ...createCachedReads(reads, createBatchedHeads(database.read)),
    followHeads: () => createHeadFollower(database.read),
    ...createCommit(database, address),
    census: (time) => takeCensusSlowly(database, time),
    contradictions,
    diagnostics: () => database.diagnostics(),
    async close() {
      await Promise.all([database.close(), replica?.close()])
    },
  }
  return replica === undefined ? store : withReplicaReads(store, readsOf(replica))
}

/** Under a limit of its own: other statements end after `statement_timeout`. */
async function takeCensusSlowly(database: PostgresDatabase, time: string): Promise<Census> {
  const transaction = await database.begin({ timeoutMs: countTimeoutMs })
  try {
    return await takeCensus(createKysely(transaction.query), time)
  } finally {
    await transaction.rollback()
  }
}
