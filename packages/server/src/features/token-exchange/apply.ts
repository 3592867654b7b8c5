import { recordEntityTag } from '../../kernel/entity-tags.ts'
import { exchangeLedgerId } from '../../kernel/ledger/chain.ts'
import type { ChangeOf, Origin, TokenUse } from '../../kernel/ledger/changes.ts'
import {
  appendEvents,
  ensureLedger,
  type LockedLedger,
  lockProjectLedger,
} from '../../kernel/ledger/locked-ledger.ts'
import type { Outcome } from '../../kernel/storage/outcome.ts'
import { columnsOf, type Db } from '../../kernel/storage/schema.ts'
import { exists, insertion, statement } from '../../kernel/storage/statements.ts'
import { isoTime } from '../../kernel/values/times.ts'
import { toAccessRule } from '../access-rules/operations.ts'
import {
  type AccessRuleRecord,
  accessRuleFromRow,
  accessRuleTable,
} from '../access-rules/stored.ts'
import { apiKeys, apiKeyToRow, isManaged } from '../api-keys/stored.ts'
import { refusedToken } from './faults.ts'

/** Locks the rule too, so that a change of it waits for this one or is seen by it. */
const touchRule = statement((db, { id, time }: { id: string; time: string }) =>
  db
    .updateTable('access_rule')
    .set({ last_exchange_time: time })
    .where('id', '=', id)
    .returning(columnsOf(accessRuleTable)),
)

const insertKey = insertion('api_key')

/**
 * Stores the exchanged API key, and its event in the ledger of its project: exchanges must not move
 * the system's ledger, since every cached caller is valid only while its head stays.
 */
export async function exchangeToken(
  db: Db,
  { apiKey, rule, matched, once, origin }: ChangeOf<'token.exchange'>,
): Promise<Outcome<undefined>> {
  const ledger = await lockExchangeLedger(db, apiKey, origin)
  if (rule !== undefined) await requireCurrent(db, rule, origin.time)
  if (once !== undefined && !(await markUsed(db, once))) throw refusedToken()
  await insertKey(db, [apiKeyToRow(apiKey)])
  const claims = matched.map(([name, to]) => [`claims.${name}`, { to }])
  const changes = {
    ...apiKeys.changes(undefined, apiKey),
    ...Object.fromEntries(claims),
  }
  const subject = { type: 'api_key', id: apiKey.id } as const
  await appendEvents(ledger, [{ type: 'token.exchanged', subject, changes }])
  return { result: undefined, changed: true }
}

/** The ledger of the exchanges for the project, or for all projects. A contradicted row may name any. */
export async function lockExchangeLedger(
  db: Db,
  {
    projectId = exchangeLedgerId,
    contradicted,
  }: Pick<AccessRuleRecord, 'projectId' | 'contradicted'>,
  origin: Origin,
): Promise<LockedLedger> {
  const ledgerId = contradicted ? exchangeLedgerId : projectId
  if (ledgerId === exchangeLedgerId) await ensureLedger(db, exchangeLedgerId)
  return lockProjectLedger(db, ledgerId, origin)
}

async function requireCurrent(db: Db, rule: AccessRuleRecord, time: string): Promise<void> {
  const [row] = await touchRule(db, { id: rule.id, time })
  const isCurrent = row !== undefined && tagOf(accessRuleFromRow(row)) === tagOf(rule)
  if (!isCurrent) throw refusedToken()
}

const tagOf = (rule: AccessRuleRecord) => recordEntityTag(toAccessRule(rule))

/** Whether it is the first use. The primary key decides between two at the same time. */
export function markUsed(db: Db, { digest, until }: TokenUse): Promise<boolean> {
  const query = db
    .insertInto('used_token')
    .values({ digest, expire_time: until })
    .onConflict((conflict) => conflict.column('digest').doNothing())
  return exists(query.returning('digest'))
}

/** Rows deleted by one change, which other changes wait for. */
const maxForgotten = 5_000

/** Exchanged API keys are listed for a day after their end. */
const keptAfterEndMs = 24 * 3_600_000

export async function forgetTokens(
  db: Db,
  { time }: ChangeOf<'token.forget'>,
): Promise<Outcome<undefined>> {
  const dayBefore = isoTime(Date.parse(time) - keptAfterEndMs)
  const ended = db
    .selectFrom('api_key')
    .select('digest')
    .where('expire_time', '<=', dayBefore)
    .where((where) => where.not(isManaged))
    .limit(maxForgotten)
  await db.deleteFrom('api_key').where('digest', 'in', ended).execute()
  const expired = db
    .selectFrom('used_token')
    .select('digest')
    .where('expire_time', '<=', time)
    .limit(maxForgotten)
  await db.deleteFrom('used_token').where('digest', 'in', expired).execute()
  return { result: undefined, changed: true }
}
