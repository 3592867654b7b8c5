import { hash } from 'node:crypto'
import { subject, systemLedger } from '../../kernel/ledger/subject.ts'
import type { Stored } from '../../kernel/records.ts'
import { type RowOf, rowMapping, table } from '../../kernel/storage/schema.ts'
import type { AccessRule, WorkloadMember } from './contract.ts'

/** A stored rule that gives a role to people who signed in with these claims. */
export interface PeopleRule
  extends Stored<
    Omit<AccessRule, 'for' | 'allProjects' | 'lastExchangeTime' | 'notes' | WorkloadMember>
  > {
  for: 'people'
}

/** A stored rule by which the tokens of an issuer are exchanged for API keys. */
export interface WorkloadRule
  extends Omit<PeopleRule, 'for'>,
    Required<Pick<AccessRule, 'keySource' | 'audience' | 'singleUse' | 'maxLifetime'>>,
    Pick<AccessRule, 'jwksUri' | 'jwks' | 'lastExchangeTime'> {
  for: 'workloads'
}

/** A stored access rule. */
export type AccessRuleRecord = PeopleRule | WorkloadRule

/** Whether the rule gives its role at all. */
export function isApplied({ enabled, contradicted }: AccessRuleRecord): boolean {
  return enabled && contradicted === undefined
}

/** Where the keys of an issuer come from. */
export type IssuerKeySource = Pick<
  WorkloadRule,
  'issuer' | 'keySource' | 'jwksUri' | 'jwks' | 'projectId'
>

/** Rules that give roles; without a project: for all projects. */
export const accessRuleTable = table(
  'access_rule',
  {
    id: 'key text',
    /** Whom the rule is for: people or workloads. */
    for: 'text',
    name: 'text',
    issuer: 'text',
    conditions: 'json',
    role: 'text',
    project_id: 'nullable text',
    enabled: 'boolean',
    create_time: 'text',
    update_time: 'text',
    /** The following columns are null in rules for people. */
    key_source: 'nullable text',
    jwks_uri: 'nullable text',
    jwks: 'nullable json',
    audience: 'nullable text',
    single_use: 'nullable boolean',
    max_lifetime: 'nullable integer',
    last_exchange_time: 'nullable text',
  },
  { last_exchange_time: 'it is only shown; the exchanges themselves are events' },
)

declare module '../../kernel/storage/schema.ts' {
  interface Tables {
    access_rule: RowOf<typeof accessRuleTable>
  }
}

const mapping = rowMapping<
  typeof accessRuleTable,
  Omit<PeopleRule, 'for'> & Partial<Omit<WorkloadRule, keyof PeopleRule>> & { for: string }
>(accessRuleTable, { jwks: { keys: [] }, conditions: {} })

/** A row with the columns of the other kind contradicts the ledger. */
export function accessRuleFromRow(row: RowOf<typeof accessRuleTable>): AccessRuleRecord {
  return mapping.fromRow(row) as AccessRuleRecord
}

export const { toRow: accessRuleToRow } = mapping

export const accessRules = subject({
  name: 'access_rule',
  table: accessRuleTable,
  ledger: systemLedger,
  events: ['created', 'updated', 'deleted', 'keys_ended'],
  fromRow: accessRuleFromRow,
  members: (rule) => ({
    for: rule.for,
    name: rule.name,
    issuer: rule.issuer,
    conditions: JSON.stringify(rule.conditions),
    role: rule.role,
    projectId: rule.projectId,
    active: rule.enabled,
    ...(rule.for === 'workloads' && {
      keySource: rule.keySource,
      jwksUri: rule.jwksUri,
      // The ledger holds no key material.
      jwksSha256: rule.jwks && hash('sha256', JSON.stringify(rule.jwks)),
      audience: rule.audience,
      singleUse: rule.singleUse,
      maxLifetime: rule.maxLifetime,
    }),
  }),
})
