import type { Outcome, Transaction } from '../../kernel/changes.ts'
import { recordEntityTag } from '../../kernel/entity-tags.ts'
import { appendEvents, lockExchangeLedger } from '../../kernel/ledger/locked-ledger.ts'
import { columnsOf, type Db } from '../../kernel/storage/schema.ts'
import { insertion, statement } from '../../kernel/storage/statements.ts'
import { forgetUsed, markUsed } from '../../kernel/storage/used-tokens.ts'
import { isoTime } from '../../kernel/values/times.ts'
import { toAccessRule } from '../access-rules/operations.ts'
import {
  type AccessRuleRecord,
  accessRuleFromRow,
  accessRuleTable,
} from '../access-rules/stored.ts'
import { apiKeys, apiKeyToRow, isManaged } from '../api-keys/stored.ts'
import { kidOf } from '../keys/kids.ts'
import type { KeyRecord } from '../keys/stored.ts'
import type { TokenExchange } from './changes.ts'
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
  tx: Transaction,
  { apiKey, rule, matched, once, origin }: TokenExchange,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const ledger = await lockExchangeLedger(tx, apiKey, origin)
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

async function requireCurrent(db: Db, rule: AccessRuleRecord, time: string): Promise<void> {
  const [row] = await touchRule(db, { id: rule.id, time })
  const isCurrent = row !== undefined && tagOf(accessRuleFromRow(row)) === tagOf(rule)
  if (!isCurrent) throw refusedToken()
}

const tagOf = (rule: AccessRuleRecord) => recordEntityTag(toAccessRule(rule))

/** Rows deleted by one change, which other changes wait for. */
const maxForgotten = 5_000

/** Exchanged API keys are listed for a day after their end. */
const keptAfterEndMs = 24 * 3_600_000

export async function forgetTokens(
  { db }: Transaction,
  { time }: { time: string },
): Promise<Outcome<undefined>> {
  const dayBefore = isoTime(Date.parse(time) - keptAfterEndMs)
  const ended = db
    .selectFrom('api_key')
    .select('digest')
    .where('expire_time', '<=', dayBefore)
    .where((where) => where.not(isManaged))
    .limit(maxForgotten)
  await db.deleteFrom('api_key').where('digest', 'in', ended).execute()
  await forgetUsed(db, time, maxForgotten)
  return { result: undefined, changed: true }
}

/**
 * Deletes the API keys for the successor of a key that changes, so that they do not come back when it is
 * activated again.
 */
export async function deleteSuccessorKeys({ db }: Transaction, key: KeyRecord): Promise<void> {
  await db
    .deleteFrom('api_key')
    .where('project_id', '=', key.projectId)
    .where('successor', 'is not', null)
    .where('subject', 'in', [key.id, kidOf(key)])
    .execute()
}
