import { recordEntityTag } from '../../../core/entity-tags.ts'
import { exchangeLedgerId } from '../../../core/ledger/chain.ts'
import type { ChangeOf, TokenUse } from '../../../core/ledger/changes.ts'
import { recordedChanges } from '../../../core/ledger/subjects.ts'
import type { TrustPolicyRecord } from '../../../core/records.ts'
import { refusedToken } from '../../../core/trust/faults.ts'
import { toTrustPolicy } from '../../../core/trust/policies.ts'
import { exchangedKeyToRow, trustPolicyFromRow } from '../../row-mapping.ts'
import { columnsOf, type Db } from '../../schema.ts'
import { insertion, statement } from '../../statements.ts'
import { appendEvents, ensureLedger, lockProjectLedger } from '../ledger.ts'
import type { Outcome } from '../outcome.ts'

/** Locks the policy too, so that a change of it waits for this one or is seen by it. */
const touchPolicy = statement((db, { id, time }: { id: string; time: string }) =>
  db
    .updateTable('trust_policy')
    .set({ last_exchange_time: time })
    .where('id', '=', id)
    .returning(columnsOf('trust_policy')),
)

const insertKey = insertion('exchanged_key')

/**
 * Stores the exchanged API key, and its event in the ledger of its project: exchanges must not move
 * the system's ledger, since every cached caller is valid only while its head stays.
 */
export async function exchangeToken(
  db: Db,
  { apiKey, policy, matched, once, origin }: ChangeOf<'token.exchange'>,
): Promise<Outcome<undefined>> {
  if (apiKey.projectId === undefined) await ensureLedger(db, exchangeLedgerId)
  const ledger = await lockProjectLedger(db, apiKey.projectId ?? exchangeLedgerId, origin)
  if (policy !== undefined) await requireCurrent(db, policy, origin.time)
  if (once !== undefined && !(await markUsed(db, once))) throw refusedToken()
  await insertKey(db, [exchangedKeyToRow(apiKey)])
  const claims = matched.map(([name, to]) => [`claims.${name}`, { to }])
  const changes = {
    ...recordedChanges('exchanged_key', undefined, apiKey),
    ...Object.fromEntries(claims),
  }
  const subject = { type: 'api_key', id: apiKey.id } as const
  await appendEvents(db, ledger, origin, [{ type: 'token.exchanged', subject, changes }])
  return { result: undefined, changed: true }
}

async function requireCurrent(db: Db, policy: TrustPolicyRecord, time: string): Promise<void> {
  const [row] = await touchPolicy(db, { id: policy.id, time })
  const isCurrent = row !== undefined && tagOf(trustPolicyFromRow(row)) === tagOf(policy)
  if (!isCurrent) throw refusedToken()
}

const tagOf = (policy: TrustPolicyRecord) => recordEntityTag(toTrustPolicy(policy))

/** Whether it is the first use. The primary key decides between two at the same time. */
export async function markUsed(db: Db, { digest, until }: TokenUse): Promise<boolean> {
  const inserted = await db
    .insertInto('used_token')
    .values({ digest, expire_time: until })
    .onConflict((conflict) => conflict.column('digest').doNothing())
    .returning('digest')
    .executeTakeFirst()
  return inserted !== undefined
}

/** Rows deleted by one change, which other changes wait for. */
const maxForgotten = 5_000

export async function forgetTokens(
  db: Db,
  { time }: ChangeOf<'token.forget'>,
): Promise<Outcome<undefined>> {
  for (const table of ['exchanged_key', 'used_token'] as const) {
    const expired = db
      .selectFrom(table)
      .select('digest')
      .where('expire_time', '<=', time)
      .limit(maxForgotten)
    await db.deleteFrom(table).where('digest', 'in', expired).execute()
  }
  return { result: undefined, changed: true }
}
