import { sql } from 'kysely'
import { exchangeLedgerId, type NewEvent, systemLedgerId } from '../../kernel/ledger/chain.ts'
import { subject } from '../../kernel/ledger/subject.ts'
import type { Stored } from '../../kernel/records.ts'
import { columnsOf, type Db, type RowOf, rowMapping, table } from '../../kernel/storage/schema.ts'
import { present } from '../../runtime/present.ts'
import type { ApiKey } from './contract.ts'

/** A stored API key: its digest, never the secret. */
export type ApiKeyRecord = Stored<Omit<ApiKey, 'exchanged'>> & {
  /** SHA-256 over the secret, lower-case hex. */
  digest: string
  /** Set if a token was exchanged for it. It is deleted when its access rule changes. */
  exchanged?: Exchange
  /** Set if it belongs to a session on the command line: it has the rights of the session. */
  sessionId?: string
}

/** The access rule that accepted a token, and the claims that identify the workload. */
export interface Exchange {
  ruleId: string
  issuer: string
  /** With a `successor`: the kid of the key that vouches for it. */
  subject: string
  /** RFC 7638 thumbprint of the one key that the API key may register. */
  successor?: string
}

/**
 * API keys that were exchanged for a token have the rule, issuer and subject; those of a session on the
 * command line have the session.
 */
export const apiKeyTable = table(
  'api_key',
  {
    id: 'key text',
    name: 'text',
    role: 'text',
    project_id: 'nullable text',
    prefix: 'text',
    digest: 'unique text',
    enabled: 'boolean',
    create_time: 'text',
    expire_time: 'nullable text',
    last_use_time: 'nullable text',
    rule_id: 'nullable text',
    issuer: 'nullable text',
    subject: 'nullable text',
    /** RFC 7638 thumbprint of the one key that it may register. */
    successor: 'nullable text',
    session_id: 'nullable text',
  },
  { last_use_time: 'it is only shown; a use has no event' },
)

declare module '../../kernel/storage/schema.ts' {
  interface Tables {
    api_key: RowOf<typeof apiKeyTable>
  }
}

type ApiKeyRow = RowOf<typeof apiKeyTable>

export const apiKeyColumns = columnsOf(apiKeyTable)

const mapping = rowMapping<
  typeof apiKeyTable,
  Omit<ApiKeyRecord, 'exchanged'> & Partial<NonNullable<ApiKeyRecord['exchanged']>>
>(apiKeyTable, {})

export function apiKeyFromRow(row: ApiKeyRow): ApiKeyRecord {
  const { ruleId, issuer, subject, successor, ...apiKey } = mapping.fromRow(row)
  const exchanged = present({ ruleId, issuer, subject, successor })
  if (Object.keys(exchanged).length === 0) return apiKey
  return { ...apiKey, exchanged: { ruleId: '', issuer: '', subject: '', ...exchanged } }
}

export function apiKeyToRow({ exchanged, ...apiKey }: ApiKeyRecord): ApiKeyRow {
  return mapping.toRow({ ...apiKey, ...exchanged })
}

/** Whether it is an API key that admins create, and not one that a token or a session was exchanged for. */
export const isManaged = sql<boolean>`(api_key.rule_id is null and api_key.session_id is null)`

/** The ledger that has the events of an API key. */
const ledgerOfApiKey = sql<string>`(case when ${isManaged} then ${sql.lit(systemLedgerId)}
  else coalesce(api_key.project_id, ${sql.lit(exchangeLedgerId)}) end)`

export const apiKeys = subject({
  name: 'api_key',
  table: apiKeyTable,
  ledger: {
    scope: 'both',
    inQuery: ledgerOfApiKey,
    of: ({ exchanged, sessionId, projectId = exchangeLedgerId }: ApiKeyRecord) =>
      exchanged === undefined && sessionId === undefined ? systemLedgerId : projectId,
    // A change of the rule is an event of the same ledger, after which no older row is accepted.
    isSubject: sql`in (api_key.id, api_key.rule_id)`,
    // A row that is put back after the project of its rule was deleted has no other event.
    condition: sql`(api_key.rule_id is null or exists (select 1 from access_rule
      where access_rule.id = api_key.rule_id and access_rule.enabled = 1))`,
  },
  events: ['created', 'updated', 'deleted'],
  fromRow: apiKeyFromRow,
  members: ({ name, role, projectId, enabled, expireTime, exchanged }) => ({
    name,
    role,
    projectId,
    active: enabled,
    expireTime,
    successor: exchanged?.successor,
  }),
  recordsOf,
  async accept(db: Db, ledgerId: string): Promise<NewEvent[]> {
    const accepted = await recordsOf(db, ledgerId)
    if (ledgerId === systemLedgerId) {
      return accepted.map((apiKey) => apiKeys.eventOf('recorded', apiKey))
    }
    // These are valid for minutes: a workload with a right to one exchanges a token again.
    for (const { id } of accepted) await db.deleteFrom('api_key').where('id', '=', id).execute()
    return []
  },
})

/**
 * A busy project has millions of exchanges, and rows that live for minutes. So its replay reads only the
 * rows of exchanged API keys that contradict the event of their exchange.
 */
async function recordsOf(db: Db, ledgerId: string): Promise<ApiKeyRecord[]> {
  if (ledgerId === systemLedgerId) {
    return apiKeys.readUnchecked(db, (all) => all.where(isManaged))
  }
  const exchanged = await apiKeys.read(db, (all) => all.where(ledgerOfApiKey, '=', ledgerId))
  return exchanged.filter(({ contradicted }) => contradicted)
}
