import type { Store } from '../../core/context.ts'
import { createCachedReads } from '../reads/cached.ts'
import { createStoreReads } from '../reads/store.ts'
import { parsePostgresAddress } from './address.ts'
import { createCommit } from './commit.ts'
import { openDatabase } from './database.ts'
import { createKysely } from './dialect.ts'
import { createBatchedHeads } from './heads.ts'
import { migratePostgres } from './migrate.ts'
import { withReplicaReads } from './replica-reads.ts'
import { explainStartError, waitUntilUsable } from './startup.ts'

interface PostgresOptions {
  /** `postgres://…` */
  url: string
  /** Standbys of that server, from which published key sets may be read. */
  replicaUrl?: string
}

/**
 * The store in a PostgreSQL database, 14 or later, which any number of processes can share. Brings
 * the schema up to date. Rejects with one line for a person if the database cannot be used.
 */
export async function openPostgresStore({ url, replicaUrl }: PostgresOptions): Promise<Store> {
  const address = parsePostgresAddress(url)
  const database = openDatabase(address, 'primary')
  try {
    await waitUntilUsable(database)
    await migratePostgres(database)
  } catch (error) {
    await database.close()
    throw explainStartError(error)
  }
  const replica =
    replicaUrl === undefined ? undefined : openDatabase(parsePostgresAddress(replicaUrl), 'any')
  const reads = createStoreReads(createKysely(database.read))
  const store: Store = {
    ...reads,
    ...createCachedReads(reads, createBatchedHeads(database.read)),
    ...createCommit(database, address.poolSize),
    async close() {
      await Promise.all([database.close(), replica?.close()])
    },
  }
  return replica === undefined
    ? store
    : withReplicaReads(store, createStoreReads(createKysely(replica.read)))
}
