import type { Outcome, Transaction } from '../../kernel/changes.ts'
import { recordEntityTag } from '../../kernel/entity-tags.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import { lockExchangeLedger } from '../../kernel/ledger/locked-ledger.ts'
import { firstUse } from '../../kernel/ledger/token-uses.ts'
import { columnsOf, type Db } from '../../kernel/storage/schema.ts'
import { statement } from '../../kernel/storage/statements.ts'
import { toAccessRule } from '../access-rules/operations.ts'
import {
  type AccessRuleRecord,
  accessRuleFromRow,
  accessRuleTable,
} from '../access-rules/stored.ts'
import { deletionOf, insertIssued } from '../api-keys/apply.ts'
import { apiKeyColumns, apiKeyFromRow } from '../api-keys/stored.ts'
import { kidOf } from '../keys/kids.ts'
import type { KeyRecord } from '../keys/stored.ts'
import { refusedToken, type TokenExchange } from './changes.ts'

/** Locks the rule too, so that a change of it waits for this one or is seen by it. */
const touchRule = statement((db, { id, time }: { id: string; time: string }) =>
  db
    .updateTable('access_rule')
    .set({ last_exchange_time: time })
    .where('id', '=', id)
    .returning(columnsOf(accessRuleTable)),
)

/** Issues the API key, unless the rule has changed or the token was used. */
export async function exchangeToken(
  tx: Transaction,
  { apiKey, rule, matched, once, origin }: TokenExchange,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const ledger = await lockExchangeLedger(tx, apiKey, origin)
  await requireCurrent(db, rule, origin.time)
  const use = once === undefined ? [] : await firstUse(ledger, once)
  if (use === undefined) throw refusedToken()
  const claims = matched.map(([name, to]) => [`claims.${name}`, { to }])
  await insertIssued(ledger, apiKey, { claims: Object.fromEntries(claims), before: [use].flat() })
  return { result: undefined, changed: true }
}

async function requireCurrent(db: Db, rule: AccessRuleRecord, time: string): Promise<void> {
  const [row] = await touchRule(db, { id: rule.id, time })
  const isCurrent = row !== undefined && tagOf(accessRuleFromRow(row)) === tagOf(rule)
  if (!isCurrent) throw refusedToken()
}

const tagOf = (rule: AccessRuleRecord) => recordEntityTag(toAccessRule(rule))

/**
 * Deletes the API keys for the successor of a key that changes, so that they do not come back when it is
 * activated again; returns an event for each.
 */
export async function deleteSuccessorKeys(
  { db }: Transaction,
  key: KeyRecord,
): Promise<NewEvent[]> {
  const rows = await db
    .deleteFrom('api_key')
    .where('project_id', '=', key.projectId)
    .where('successor', 'is not', null)
    .where('subject', 'in', [key.id, kidOf(key)])
    .returning(apiKeyColumns)
    .execute()
  return rows.map((row) => deletionOf(apiKeyFromRow(row)))
}
