import { hash } from 'node:crypto'
import type { Db } from '../storage/schema.ts'
import { statement } from '../storage/statements.ts'
import { eventAbout, type NewEvent } from './chain.ts'
import type { LockedLedger } from './locked-ledger.ts'

/**
 * The id by which the ledger names a token that is accepted once: SHA-256 over its issuer and `jti`, which
 * is unique among the tokens of its issuer (RFC 7519 section 4.1.7).
 */
export function tokenDigest(issuer: string, jti: string): string {
  return hash('sha256', JSON.stringify([issuer, jti]), 'hex')
}

const findUse = statement((db, { digest }: { digest: string }) =>
  db
    .selectFrom('event')
    .select('time')
    .where('subject_id', '=', digest)
    .where('type', '=', 'token.used')
    .limit(1),
)

/** When the token was used, as ISO 8601; undefined if it was not. */
export async function readTimeOfUse(db: Db, digest: string): Promise<string | undefined> {
  return (await findUse(db, { digest }))[0]?.time
}

/**
 * The event of the use, which the caller appends to the locked ledger; undefined if the token was used
 * before. The index of these events decides between two uses in different ledgers at the same time.
 */
export async function firstUse(
  { db }: LockedLedger,
  digest: string,
): Promise<NewEvent | undefined> {
  const used = await readTimeOfUse(db, digest)
  return used === undefined ? eventAbout('token.used', digest, {}) : undefined
}
