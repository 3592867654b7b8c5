import { toAccessRule } from '../../core/access-rules/rules.ts'
import { recordEntityTag } from '../../core/entity-tags.ts'
import { exchangeLedgerId } from '../../core/ledger/chain.ts'
import type { ChangeOf, TokenUse } from '../../core/ledger/changes.ts'
import { recordedChanges } from '../../core/ledger/subjects.ts'
import type { AccessRuleRecord } from '../../core/records.ts'
import { refusedToken } from '../../core/token-exchange/faults.ts'
import { accessRuleFromRow, exchangedKeyToRow } from '../row-mapping.ts'
import { columnsOf, type Db } from '../schema.ts'
import { insertion, statement } from '../statements.ts'
import { appendEvents, ensureLedger, lockProjectLedger } from './ledger.ts'
import type { Outcome } from './outcome.ts'

/** Locks the rule too, so that a change of it waits for this one or is seen by it. */
const touchRule = statement((db, { id, time }: { id: string; time: string }) =>
  db
    .updateTable('access_rule')
    .set({ last_exchange_time: time })
    .where('id', '=', id)
    .returning(columnsOf('access_rule')),
)

const insertKey = insertion('exchanged_key')

/**
 * Stores the exchanged API key, and its event in the ledger of its project: exchanges must not move
 * the system's ledger, since every cached caller is valid only while its head stays.
 */
export async function exchangeToken(
  db: Db,
  { apiKey, rule, matched, once, origin }: ChangeOf<'token.exchange'>,
): Promise<Outcome<undefined>> {
  if (apiKey.projectId === undefined) await ensureLedger(db, exchangeLedgerId)
  const ledger = await lockProjectLedger(db, apiKey.projectId ?? exchangeLedgerId, origin)
  if (rule !== undefined) await requireCurrent(db, rule, origin.time)
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

async function requireCurrent(db: Db, rule: AccessRuleRecord, time: string): Promise<void> {
  const [row] = await touchRule(db, { id: rule.id, time })
  const isCurrent = row !== undefined && tagOf(accessRuleFromRow(row)) === tagOf(rule)
  if (!isCurrent) throw refusedToken()
}

const tagOf = (rule: AccessRuleRecord) => recordEntityTag(toAccessRule(rule))

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
