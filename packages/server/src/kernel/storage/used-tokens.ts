import { hash } from 'node:crypto'
import type { Outcome, Transaction } from '../changes.ts'
import { type Db, type RowOf, table } from './schema.ts'
import { exists } from './statements.ts'

/**
 * Credentials that are accepted once, until they expire: tokens, by SHA-256 of issuer and `jti`; and
 * API keys that have registered the one key that they may, by their digest.
 */
export const usedTokenTable = table('used_token', { digest: 'key text', expire_time: 'text' }, [
  'index used_token_expiry on used_token (expire_time)',
])

declare module './schema.ts' {
  interface Tables {
    used_token: RowOf<typeof usedTokenTable>
  }
}

/** A token that is accepted once: the digest of its issuer and `jti`, and its end (ISO 8601). */
export interface TokenUse {
  digest: string
  until: string
}

/** A `jti` is unique among the tokens of its issuer (RFC 7519 section 4.1.7). */
export function tokenDigest(issuer: string, jti: string): string {
  return hash('sha256', JSON.stringify([issuer, jti]), 'hex')
}

/** Whether it is the first use. The primary key decides between two at the same time. */
export function markUsed(db: Db, { digest, until }: TokenUse): Promise<boolean> {
  const query = db
    .insertInto('used_token')
    .values({ digest, expire_time: until })
    .onConflict((conflict) => conflict.column('digest').doNothing())
  return exists(query.returning('digest'))
}

/** Deletes tokens that have expired by the time (ISO 8601), at most so many. */
export async function forgetUsed(db: Db, time: string, limit: number): Promise<void> {
  const expired = db
    .selectFrom('used_token')
    .select('digest')
    .where('expire_time', '<=', time)
    .limit(limit)
  await db.deleteFrom('used_token').where('digest', 'in', expired).execute()
}

/** A change that writes to the disk and leaves nothing behind. */
export async function tryStorage({ db }: Transaction): Promise<Outcome<undefined>> {
  const digest = 'trial'
  await markUsed(db, { digest, until: new Date(0).toISOString() })
  await db.deleteFrom('used_token').where('digest', '=', digest).execute()
  return { result: undefined, changed: true }
}
