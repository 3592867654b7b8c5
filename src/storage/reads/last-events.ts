import { type RawBuilder, type Selectable, sql } from 'kysely'
import { type EventChanges, exchangeLedgerId, systemLedgerId } from '../../core/ledger/chain.ts'
import {
  contradictsEvent,
  type LastEvent,
  type SubjectName,
  type SubjectRows,
} from '../../core/ledger/subjects.ts'
import type { ExchangedKeyRecord, ProjectSnapshot } from '../../core/records.ts'
import { PubringError } from '../../errors.ts'
import { isNestedWithin, isObject, parseJson } from '../../runtime/json.ts'
import {
  apiKeyColumns,
  apiKeyFromRow,
  exchangedKeyFromRow,
  keyFromRow,
  projectFromRow,
  rotationFromRow,
  sessionFromRow,
  signInRuleFromRow,
  trustPolicyFromRow,
} from '../row-mapping.ts'
import { columnsOf, type Db, type Tables } from '../schema.ts'

/**
 * The last event of each row's subject, as `TYPE CHANGES`, for the select list: one lookup in an index,
 * in the same snapshot as the row.
 */
function lastEventOf(ledgerId: RawBuilder<unknown>, subjectId: string) {
  return sql<string | null>`(select event.type || ' ' || coalesce(event.changes, '{}') from event
    where event.subject_id = ${sql.ref(subjectId)} and event.project_id = ${ledgerId}
    order by event.revision desc limit 1)`
}

export const lastKeyEvent = lastEventOf(sql.ref('jwt_key.project_id'), 'jwt_key.id').as(
  'last_event',
)

export const lastProjectEvent = lastEventOf(sql.ref('project.id'), 'project.id').as('project_event')

/** Projects with the heads of their ledgers. */
export function projectsWithLastEvents(db: Db) {
  return db
    .selectFrom('project')
    .innerJoin('ledger', 'ledger.project_id', 'project.id')
    .select([
      'project.id',
      'project.name',
      'ledger.revision',
      'ledger.hash',
      'project.create_time',
      'project.update_time',
      lastProjectEvent,
    ])
}

export function rotationsWithLastEvents(db: Db) {
  return db
    .selectFrom('rotation')
    .select(columnsOf('rotation'))
    .select(lastEventOf(sql.ref('rotation.project_id'), 'rotation.id').as('last_event'))
}

export function apiKeysWithLastEvents(db: Db) {
  return db
    .selectFrom('api_key')
    .select(apiKeyColumns)
    .select(lastEventOf(sql.lit(systemLedgerId), 'api_key.id').as('last_event'))
}

export function sessionsWithLastEvents(db: Db) {
  return db
    .selectFrom('session')
    .select(columnsOf('session'))
    .select(lastEventOf(sql.lit(systemLedgerId), 'session.id').as('last_event'))
}

export function signInRulesWithLastEvents(db: Db) {
  return db
    .selectFrom('sign_in_rule')
    .select(columnsOf('sign_in_rule'))
    .select(lastEventOf(sql.lit(systemLedgerId), 'sign_in_rule.id').as('last_event'))
}

export function trustPoliciesWithLastEvents(db: Db) {
  return db
    .selectFrom('trust_policy')
    .select(columnsOf('trust_policy'))
    .select(lastEventOf(sql.lit(systemLedgerId), 'trust_policy.id').as('last_event'))
}

/** The ledger that has the event of an exchanged API key. */
export const ledgerOfExchange = sql<string>`coalesce(exchanged_key.project_id, ${sql.lit(exchangeLedgerId)})`

export function exchangedKeysWithLastEvents(db: Db) {
  return db
    .selectFrom('exchanged_key')
    .select(columnsOf('exchanged_key'))
    .select(lastEventOf(ledgerOfExchange, 'exchanged_key.id').as('last_event'))
}

type WithLastEvent<Table extends keyof Tables> = Selectable<Tables[Table]> & {
  last_event: string | null
}

/** Makes the record of a row, marked if it contradicts its last event. */
function checker<Name extends SubjectName, Row>(
  name: Name,
  fromRow: (row: Row) => SubjectRows[Name],
): (row: Row & { last_event: string | null }) => SubjectRows[Name] {
  return (row) => {
    const record = fromRow(row)
    if (!contradictsEvent(name, record, parseLastEvent(row.last_event))) return record
    return { ...record, contradicted: true }
  }
}

export const checkedKey = checker('key', keyFromRow)
export const checkedRotation = checker('rotation', rotationFromRow)
export const checkedApiKey = checker('api_key', apiKeyFromRow)
export const checkedSession = checker('session', sessionFromRow)
export const checkedSignInRule = checker('sign_in_rule', signInRuleFromRow)
export const checkedTrustPolicy = checker('trust_policy', trustPolicyFromRow)

/** Undefined if the row contradicts the event of its exchange. */
export function checkedExchangedKey({
  last_event,
  ...row
}: WithLastEvent<'exchanged_key'>): ExchangedKeyRecord | undefined {
  const key = exchangedKeyFromRow(row)
  return contradictsEvent('exchanged_key', key, parseLastEvent(last_event)) ? undefined : key
}

/** Undefined if the row contradicts its ledger. */
export function checkedProject(
  row: Selectable<Tables['project']> & {
    revision: number
    hash: string
    project_event: string | null
  },
): ProjectSnapshot | undefined {
  const project = { ...projectFromRow(row), head: row.hash }
  const last = parseLastEvent(row.project_event)
  return contradictsEvent('project', project, last) ? undefined : project
}

/** Undefined if there is none, or it is not an event any more. */
function parseLastEvent(text: string | null): LastEvent | undefined {
  const end = text?.indexOf(' ') ?? -1
  const changes = text === null ? undefined : parseChanges(text.slice(end + 1))
  return text === null || changes === undefined ? undefined : { type: text.slice(0, end), changes }
}

/** Whether the column holds valid `EventChanges`: two levels of objects, then values. */
export function hasValidChanges(changes: string | null): boolean {
  return changes === null || parseChanges(changes) !== undefined
}

function parseChanges(text: string): EventChanges | undefined {
  const value = parseJson(text)
  const isValid =
    isObject(value) && isNestedWithin(value, 2) && Object.values(value).every(isObject)
  return isValid ? (value as EventChanges) : undefined
}

/**
 * Throws `storage_unavailable` for a row that contradicts its ledger: a change would make the
 * forged values part of the ledger.
 */
export function requireUncontradicted(
  noun: string,
  { contradicted }: { contradicted?: true },
): void {
  if (contradicted === undefined) return
  throw new PubringError(
    'storage_unavailable',
    `The stored ${noun} contradicts the ledger, so it is not used and cannot be changed. Delete it and create another one, or ask the operator to run pubring check.`,
    { retryAfter: 60 },
  )
}
