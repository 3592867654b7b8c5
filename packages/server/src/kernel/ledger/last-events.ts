import { type RawBuilder, type Selectable, type SelectQueryBuilder, sql } from 'kysely'
import { isNestedWithin, isObject, parseJson } from '../../runtime/json.ts'
import type { ApiKeyRecord, ProjectRecord } from '../records.ts'
import {
  accessRuleFromRow,
  apiKeyFromRow,
  keyFromRow,
  projectFromRow,
  rotationFromRow,
  sessionFromRow,
} from '../storage/row-mapping.ts'
import { columnsOf, type Db, type TableName, type Tables } from '../storage/schema.ts'
import { locked, statement } from '../storage/statements.ts'
import { storageUnavailable } from '../storage-faults.ts'
import { type EventChanges, exchangeLedgerId, systemLedgerId } from './chain.ts'
import { noteOf } from './contradictions.ts'
import {
  contradictsEvent,
  type LastEvent,
  type SubjectName,
  type SubjectRows,
  subjectKinds,
} from './subjects.ts'

/**
 * The last event of each row's subject, as `TYPE CHANGES`, for the select list: one lookup in an index,
 * in the same snapshot as the row.
 */
function lastEventOf(
  ledgerId: RawBuilder<unknown>,
  isSubject: RawBuilder<unknown>,
  revision = sql.ref('event.revision'),
) {
  return sql<string | null>`(select event.type || ' ' || coalesce(event.changes, '{}') from event
    where event.subject_id ${isSubject} and event.project_id = ${ledgerId}
    order by ${revision} desc limit 1)`
}

const is = (column: string) => sql`= ${sql.ref(column)}`

export const lastProjectEvent = lastEventOf(sql.ref('project.id'), is('project.id')).as(
  'project_event',
)

/** Projects with the revisions of their ledgers. */
export function projectsWithLastEvents(db: Db) {
  return db
    .selectFrom('project')
    .innerJoin('ledger', 'ledger.project_id', 'project.id')
    .select([
      'project.id',
      'project.name',
      'ledger.revision',
      'project.create_time',
      'project.update_time',
      lastProjectEvent,
    ])
}

type ProjectRow = Selectable<Tables['project']> & {
  revision: number
  project_event: string | null
}
type Row<Table extends TableName> = Selectable<Tables[Table]>
type RowWithEvent<Table extends TableName> = Row<Table> & { last_event: string | null }
type Query<Table extends TableName, Output> = SelectQueryBuilder<Tables, Table, Output>
type Refine<Table extends TableName, Output> = (all: Query<Table, Output>) => Query<Table, Output>

/** The ledger of each row, in a query and for a record. */
interface Ledger<Record> {
  inQuery: RawBuilder<unknown>
  of(record: Record): string
  /** The subjects of the events that concern the row; absent if only the row itself. */
  isSubject?: RawBuilder<unknown>
}

/** A table whose rows are compared with their last events whenever they are used. */
function checkedTable<Name extends SubjectName, Table extends TableName>(
  name: Name,
  table: Table,
  ledger: Ledger<SubjectRows[Name]>,
  fromRow: (row: Row<Table>) => SubjectRows[Name],
) {
  // Several subjects are not in the order of the index. A sum keeps both engines from an index in the order
  // of revisions instead, through which they would search the ledger.
  const ofSubjects = ledger.isSubject && [ledger.isSubject, sql`event.revision + 0`]
  const [isSubject = is(`${table}.id`), revision] = ofSubjects ?? []
  const lastEvent = lastEventOf(ledger.inQuery, isSubject, revision).as('last_event')
  const columns = columnsOf(table).map((column) => `${table}.${column}`)
  // Kysely cannot type a query of a table that is a parameter.
  const select = (db: Db) =>
    db.selectFrom(table as 'api_key').select(columns as 'id'[]) as unknown as Query<
      Table,
      Row<Table>
    >
  /** The rows with their last events. */
  const rows = (db: Db) =>
    select(db).select(lastEvent) as unknown as Query<Table, RowWithEvent<Table>>
  const byId = (db: Db, id: string) =>
    rows(db).where(sql<boolean>`${sql.ref(`${table}.id`)} = ${id}`)
  const findById = statement<{ id: string }, RowWithEvent<Table>>((db, { id }) => byId(db, id))
  const lockById = statement<{ id: string }, RowWithEvent<Table>>((db, { id }) =>
    locked(db, byId(db, id)),
  )

  /** The records of such rows, each marked if it contradicts its last event. */
  function check(db: Db, found: readonly RowWithEvent<Table>[]) {
    const note = noteOf(db)
    return found.map((row): SubjectRows[Name] & { contradicted?: true } => {
      const record = fromRow(row)
      const contradicted = contradictsEvent(name, record, parseLastEvent(row.last_event))
      const subject = `${name} ${subjectKinds[name].id(record)}`
      note?.({ ledgerId: ledger.of(record), subject }, contradicted)
      return contradicted ? { ...record, contradicted } : record
    })
  }
  return {
    lastEvent,
    rows,
    check,
    async read(db: Db, refine: Refine<Table, RowWithEvent<Table>> = (all) => all) {
      return check(db, (await refine(rows(db)).execute()) as RowWithEvent<Table>[])
    },
    /** Only for tables whose ids are unique. */
    async find(db: Db, id: string) {
      return check(db, await findById(db, { id }))[0]
    },
    /** The same under the lock of `locked`. */
    async lock(db: Db, id: string) {
      return check(db, await lockById(db, { id }))[0]
    },
    /** Reads rows without comparing them with their last events. */
    async readUnchecked(db: Db, refine: Refine<Table, Row<Table>> = (all) => all) {
      const found = await refine(select(db)).execute()
      return (found as Row<Table>[]).map(fromRow)
    },
  }
}

const systemLedger = { inQuery: sql.lit(systemLedgerId), of: () => systemLedgerId }

const projectLedger = (table: 'jwt_key' | 'rotation'): Ledger<{ projectId: string }> => ({
  inQuery: sql.ref(`${table}.project_id`),
  of: ({ projectId }) => projectId,
})

/** Whether it is an API key that admins create, and not one that a token or a session was exchanged for. */
export const isManaged = sql<boolean>`(api_key.rule_id is null and api_key.session_id is null)`

/** The ledger that has the events of an API key. */
export const ledgerOfApiKey = sql<string>`(case when ${isManaged} then ${sql.lit(systemLedgerId)}
  else coalesce(api_key.project_id, ${sql.lit(exchangeLedgerId)}) end)`

const apiKeyLedger: Ledger<ApiKeyRecord> = {
  inQuery: ledgerOfApiKey,
  of: ({ exchanged, sessionId, projectId = exchangeLedgerId }) =>
    exchanged === undefined && sessionId === undefined ? systemLedgerId : projectId,
  // A change of the rule is an event of the same ledger, after which no older row is accepted.
  isSubject: sql`in (api_key.id, api_key.rule_id)`,
}

export const keys = checkedTable('key', 'jwt_key', projectLedger('jwt_key'), keyFromRow)
export const rotations = checkedTable(
  'rotation',
  'rotation',
  projectLedger('rotation'),
  rotationFromRow,
)
export const apiKeys = checkedTable('api_key', 'api_key', apiKeyLedger, apiKeyFromRow)
export const sessions = checkedTable('session', 'session', systemLedger, sessionFromRow)
export const accessRules = checkedTable(
  'access_rule',
  'access_rule',
  systemLedger,
  accessRuleFromRow,
)

/** The projects of the rows that do not contradict their ledgers. */
export function checkedProjects(db: Db, rows: readonly ProjectRow[]): ProjectRecord[] {
  const note = noteOf(db)
  return rows.flatMap((row) => {
    const project = projectFromRow(row)
    const { id: ledgerId } = project
    const contradicted = contradictsEvent('project', project, parseLastEvent(row.project_event))
    note?.({ ledgerId, subject: `project ${ledgerId}` }, contradicted)
    return contradicted ? [] : [project]
  })
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
  throw storageUnavailable(
    `The stored ${noun} contradicts the ledger, so it is not used and cannot be changed. Delete it and create another one, or ask the operator to run pubring check.`,
    60,
  )
}
