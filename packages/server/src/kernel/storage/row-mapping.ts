import type { Insertable, Selectable } from 'kysely'
import { damagedJwk, parseStored } from '../../features/keys/damaged.ts'
import { present } from '../../runtime/present.ts'
import type { Actor, EventChanges, EventType, LedgerEvent } from '../ledger/chain.ts'
import type {
  AccessRuleRecord,
  ApiKeyRecord,
  KeyRecord,
  PeopleRule,
  PersonRecord,
  ProjectRecord,
  RotationRecord,
  SessionPerson,
  SessionRecord,
  WorkloadRule,
} from '../records.ts'
import { type ColumnKind, type Plain, plainKind } from './columns.ts'
import { type Columns, columnsOf, kindsOf, type TableName, type Tables } from './schema.ts'

/** Qualified, for queries that join tables. */
export const keyColumns = columnsOf('jwt_key').map((name) => `jwt_key.${name}` as const)
export const apiKeyColumns = columnsOf('api_key')

type KeyColumn = keyof Tables['jwt_key']

/** Whether a left join has found a key. A project without keys yields one row of nulls. */
export function hasKey<Row extends { id: string | null }>(
  row: Row,
): row is Row & Pick<Tables['jwt_key'], Extract<keyof Row, KeyColumn>> {
  return row.id !== null
}

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name

interface Members {
  text: string
  integer: number
  bigint: number
  boolean: boolean
  json: unknown
}

type KindOf<Name extends TableName, Column extends keyof Columns[Name]> = Columns[Name][Column] &
  ColumnKind

/** The members of a record, for the columns of a table: in camel case, absent for null. */
type MembersOf<Name extends TableName> = {
  -readonly [Column in keyof Columns[Name] as KindOf<Name, Column> extends `nullable ${string}`
    ? never
    : CamelCase<Column & string>]: Members[Plain<KindOf<Name, Column>>]
} & {
  -readonly [Column in keyof Columns[Name] as KindOf<Name, Column> extends `nullable ${string}`
    ? CamelCase<Column & string>
    : never]?: Members[Plain<KindOf<Name, Column>>]
}

/** For each column of JSON, what stands for a value that is no longer JSON: it matches no ledger. */
type Substitutes<Name extends TableName, Record extends object> = {
  [Column in keyof Columns[Name] as Columns[Name][Column] extends 'json' | 'nullable json'
    ? CamelCase<Column & string> & keyof Record
    : never]-?: CamelCase<Column & string> extends keyof Record
    ? NonNullable<Record[CamelCase<Column & string>]>
    : never
}

interface RowMapping<Name extends TableName, Record> {
  fromRow(row: Selectable<Tables[Name]>): Record
  /** Maps a row with some of the columns. */
  partFromRow<Column extends keyof Selectable<Tables[Name]> & string>(
    row: Pick<Selectable<Tables[Name]>, Column>,
  ): Pick<Record, CamelCase<Column> & keyof Record>
  toRow(record: Record): Insertable<Tables[Name]>
}

/**
 * Maps the rows of a table to records, by the kinds of its columns. Union types in text columns are not
 * validated: only this code writes them. A damaged row must not make the other ones unreadable.
 */
export function rowMapping<Name extends TableName, Record extends MembersOf<Name>>(
  table: Name,
  substitutes: Substitutes<Name, Record>,
): RowMapping<Name, Record> {
  const columns = Object.entries(kindsOf(table)).map(([column, kind]) => ({
    column,
    member: column.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
    kind: plainKind(kind),
  }))
  const ofDamaged = new Map(Object.entries<object>(substitutes))
  function fromRow(row: object): Record {
    const record: { [member: string]: unknown } = {}
    for (const { column, member, kind } of columns) {
      const value: unknown = Reflect.get(row, column)
      if (value === null || value === undefined) continue
      if (kind === 'boolean') record[member] = value === 1
      else if (kind !== 'json') record[member] = value
      else record[member] = parseStored(String(value), ofDamaged.get(member) ?? {})
    }
    return record as Record
  }
  return {
    fromRow,
    partFromRow: fromRow,
    toRow(record) {
      const row: { [column: string]: unknown } = {}
      for (const { column, member, kind } of columns) {
        const value: unknown = Reflect.get(record, member)
        if (value === undefined) row[column] = null
        else if (kind === 'boolean') row[column] = value ? 1 : 0
        else row[column] = kind === 'json' ? JSON.stringify(value) : value
      }
      return row as Insertable<Tables[Name]>
    },
  }
}

export const {
  fromRow: keyFromRow,
  partFromRow: keyPartFromRow,
  toRow: keyToRow,
} = rowMapping<'jwt_key', KeyRecord>('jwt_key', { jwk: damagedJwk, normalised: [] })

export const {
  fromRow: rotationFromRow,
  partFromRow: rotationPartFromRow,
  toRow: rotationToRow,
} = rowMapping<'rotation', RotationRecord>('rotation', {})

const apiKeys = rowMapping<
  'api_key',
  Omit<ApiKeyRecord, 'exchanged'> & Partial<NonNullable<ApiKeyRecord['exchanged']>>
>('api_key', {})

export function apiKeyFromRow(row: Selectable<Tables['api_key']>): ApiKeyRecord {
  const { ruleId, issuer = '', subject = '', successor, ...apiKey } = apiKeys.fromRow(row)
  if (ruleId === undefined) return apiKey
  return { ...apiKey, exchanged: { ruleId, issuer, subject, ...present({ successor }) } }
}

export function apiKeyToRow({ exchanged, ...apiKey }: ApiKeyRecord): Insertable<Tables['api_key']> {
  return apiKeys.toRow({ ...apiKey, ...exchanged })
}

const accessRules = rowMapping<
  'access_rule',
  Omit<PeopleRule, 'for'> & Partial<Omit<WorkloadRule, keyof PeopleRule>> & { for: string }
>('access_rule', { jwks: { keys: [] }, conditions: {} })

/** A row with the columns of the other kind contradicts the ledger. */
export function accessRuleFromRow(row: Selectable<Tables['access_rule']>): AccessRuleRecord {
  return accessRules.fromRow(row) as AccessRuleRecord
}

export const { toRow: accessRuleToRow } = accessRules

export const { fromRow: personFromRow, toRow: personToRow } = rowMapping<'person', PersonRecord>(
  'person',
  {},
)

/** Instead of one that was altered, which also contradicts the ledger. */
const damagedPerson: SessionPerson = { id: '', issuer: '', subject: '', claims: {} }

const sessions = rowMapping<'session', SessionRecord & { personId?: string }>('session', {
  person: damagedPerson,
})

/** The id of the person is also in a column of its own, for queries. */
export function sessionFromRow(row: Selectable<Tables['session']>): SessionRecord {
  const { personId, ...session } = sessions.fromRow(row)
  const { person } = session
  return person === undefined || person.id === personId
    ? session
    : { ...session, person: damagedPerson }
}

export function sessionToRow(session: SessionRecord): Insertable<Tables['session']> {
  return { ...sessions.toRow(session), person_id: session.person?.id ?? null }
}

const projects = rowMapping<'project', Omit<ProjectRecord, 'revision'>>('project', {})

export function projectFromRow(
  row: Selectable<Tables['project']> & { revision: number },
): ProjectRecord {
  return { ...projects.fromRow(row), revision: row.revision }
}

export function eventToRow(event: LedgerEvent): Insertable<Tables['event']> {
  const { name, apiKeyId, user, workload } = event.actor
  return {
    project_id: event.ledgerId,
    revision: event.revision,
    type: event.type,
    time: event.time,
    actor_id: apiKeyId ?? user?.sessionId ?? null,
    actor_name: name,
    actor: user === undefined && workload === undefined ? null : JSON.stringify({ user, workload }),
    person: user?.subject ?? null,
    subject_type: event.subject.type,
    subject_id: event.subject.id,
    changes: event.changes === undefined ? null : JSON.stringify(event.changes),
    request_id: event.requestId,
    hash: event.hash,
  }
}

export function eventFromRow(row: Selectable<Tables['event']>): LedgerEvent {
  return {
    ledgerId: row.project_id,
    revision: row.revision,
    type: row.type as EventType,
    time: row.time,
    actor: actorFromRow(row),
    subject: { type: row.subject_type as LedgerEvent['subject']['type'], id: row.subject_id },
    ...(row.changes === null ? {} : { changes: JSON.parse(row.changes) as EventChanges }),
    requestId: row.request_id,
    hash: row.hash,
  }
}

function actorFromRow(row: Selectable<Tables['event']>): Actor {
  const stored: Pick<Actor, 'user' | 'workload'> = parseStored(row.actor ?? '{}', {})
  const { user, workload } = stored
  const { actor_id: id, actor_name: name } = row
  // The hash covers nothing else that is known of a person.
  if (user !== undefined) return { name, user }
  return { name, ...(id === null ? {} : { apiKeyId: id }), ...(workload && { workload }) }
}
