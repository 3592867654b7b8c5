import { createBatchLoader } from '../../async/batch-loader.ts'
import { oneFor } from '../shared.ts'
import type { Db } from '../storage/schema.ts'
import { inChunks } from '../storage/statements.ts'

/**
 * Finds a record by the digest of its secret. Concurrent callers share a query: a flood of unknown
 * secrets costs less than one each.
 */
export function findByDigest<Found extends { digest: string }>(
  read: (db: Db, digests: string[]) => Promise<Found[]>,
): (db: Db, digest: string) => Promise<Found | undefined> {
  const loaderOf = oneFor((db: Db) =>
    createBatchLoader(async (digests: readonly string[]) => {
      const found = await inChunks(digests, (some) => read(db, some))
      return new Map(found.map((record) => [record.digest, record]))
    }),
  )
  return async (db, digest) => (await loaderOf(db)([digest])).get(digest)
}
