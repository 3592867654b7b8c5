import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import {
  columnsOf,
  type Db,
  memberOf,
  type RowOf,
  type Table,
  type TableName,
  type Tables,
} from '../storage/schema.ts'
import { locked, statement } from '../storage/statements.ts'
import {
  type EventChanges,
  type EventContent,
  eventAbout,
  eventChanges,
  type Members,
  type NewEvent,
  parseChanges,
  stateDigest,
  systemLedgerId,
} from './chain.ts'
import { noteOf } from './contradictions.ts'

/** The statement of an event about one row. */
interface Effect {
  id: string
  action: 'set' | 'change' | 'delete'
  changes: EventChanges
}

/** How a row contradicts itself. */
interface Damage {
  member: string
  detail: string
}

/** A row, as its ledger accounts for it. */
export interface AccountedRow {
  id: string
  /** All that it says about its subject. */
  members: Members
  damage?: Damage | undefined
}

type Scope = 'system' | 'project' | 'both'

/** A kind of row that ledgers account for, whatever its records are. */
export interface AnySubject {
  readonly name: string
  readonly table: Table
  /** Each read compares its rows with the last events of their subjects. */
  readonly isComparedAtRead?: true
  /** The ledgers whose replay accounts for it. */
  readonly scope: Scope
  /** The types of its events, which begin with its name. Only tests read them. */
  readonly eventTypes: readonly string[]
  /** Rows without an event are allowed: they only forbid something. */
  readonly mayBeUnrecorded?: true
  /** Selects the ledgers of all rows as `id`; absent if it need not be looked for them. */
  readonly ledgerIds?: RawBuilder<unknown>
  effects(event: EventContent): Effect[]
  /** The rows that the replay of a ledger compares; `idsOf` gives the subjects of its events. */
  rowsOf(db: Db, ledgerId: string, idsOf: () => readonly string[]): Promise<AccountedRow[]>
  /** Accepts the rows of a ledger as they are: events that say so. */
  accept(db: Db, ledgerId: string): Promise<NewEvent[]>
}

/** The ledger of each row, in a query and for a record. */
interface LedgerOf<Record> {
  scope: Scope
  inQuery: RawBuilder<unknown>
  of(record: Record): string
  /** The subjects of the events that concern the row; absent if only the row itself. */
  isSubject?: RawBuilder<unknown>
  /** A condition on other tables without which no event counts, so that the row is not used. */
  condition?: RawBuilder<unknown>
}

export const systemLedger: LedgerOf<unknown> = {
  scope: 'system',
  inQuery: sql.lit(systemLedgerId),
  of: () => systemLedgerId,
}

/** The ledger of the project whose id is in the column. */
export function projectLedger<Record>(
  column: string,
  of: (record: Record) => string,
): LedgerOf<Record> {
  return { scope: 'project', inQuery: sql.ref(column), of }
}

type Row<T extends Table<TableName>> = RowOf<T>
type RowWithEvent<T extends Table<TableName>> = RowOf<T> & { last_event: string | null }
type Query<T extends Table<TableName>, Output> = SelectQueryBuilder<Tables, T['name'], Output>
type Refine<T extends Table<TableName>, Output> = (all: Query<T, Output>) => Query<T, Output>
type Checked<Record> = Record & { contradicted?: true }

interface Options<Name extends string, Verb extends string, T extends Table<TableName>, Record> {
  name: Name
  table: T
  ledger: LedgerOf<NoInfer<Record>>
  /** The types of its events, without its name and without `recorded`, which each kind has. */
  events: readonly Verb[]
  fromRow(row: Row<T>): Record
  /** The members that events record with their values. */
  members(record: Record): Members
  damageOf?(record: Record): Damage | undefined
  /** The records that the replay of a ledger compares, if not all that belong to it. */
  recordsOf?(db: Db, ledgerId: string): Promise<Record[]>
  accept?(db: Db, ledgerId: string): Promise<NewEvent[]>
}

/**
 * A kind of row that ledgers account for, and that is compared with the last event of its subject
 * whenever it is used. A kind that grants rights must be one, or an inserted row grants them. Long
 * because all of it shares the options.
 */
export function subject<
  const Name extends string,
  const Verb extends string,
  T extends Table<TableName>,
  Record extends { id: string },
>(options: Options<Name, Verb, T, Record>) {
  const { name, table, ledger, fromRow, members, damageOf } = options
  // Several subjects are not in the order of the index. A sum keeps both engines from an index in the order
  // of revisions instead, through which they would search the ledger.
  const order = ledger.isSubject ? sql`event.revision + 0` : sql.ref('event.revision')
  const id = sql.ref(`${table.name}.id`)
  /**
   * The last event of each row's subject, as `TYPE CHANGES`, for the select list: one lookup in an index,
   * in the same snapshot as the row.
   */
  const lastEvent = sql<
    string | null
  >`(select event.type || ' ' || coalesce(event.changes, '{}') from event
    where event.subject_id ${ledger.isSubject ?? sql`= ${id}`} and event.project_id = ${ledger.inQuery}
    ${ledger.condition ? sql`and ${ledger.condition}` : sql``}
    order by ${order} desc limit 1)`
  const columns = columnsOf(table).map((column) => `${table.name}.${column}`)
  // Kysely cannot type a query of a table that is a parameter.
  const select = (db: Db) =>
    db.selectFrom(table.name as 'event').select(columns as 'type'[]) as unknown as Query<T, Row<T>>
  /** The rows with their last events. */
  const rows = (db: Db) =>
    select(db).select(lastEvent.as('last_event')) as unknown as Query<T, RowWithEvent<T>>
  const byId = (db: Db, value: string) => rows(db).where(sql<boolean>`${id} = ${value}`)
  const findById = statement<{ id: string }, RowWithEvent<T>>((db, values) => byId(db, values.id))
  const lockById = statement<{ id: string }, RowWithEvent<T>>((db, values) =>
    locked(db, byId(db, values.id)),
  )

  const uncovered = Object.keys(table.uncovered).map((column) => [memberOf(column), undefined])
  const left = { ...Object.fromEntries(uncovered), contradicted: undefined }
  /** The digest of everything that changes only with an event. */
  const digestOf = (record: Record) => stateDigest({ ...record, ...left })
  /** All that a record says about its subject. */
  const membersOf = (record: Record): Members => ({ ...members(record), state: digestOf(record) })
  /** The digest of the whole row, for an event that changes nothing of it. */
  const state = (record: Record): EventChanges => ({ state: { to: digestOf(record) } })

  /** Cheap, and so made whenever a row is used; a replay compares it with all events. */
  function isContradicted(record: Record, last: string | null): boolean {
    const event = parseLastEvent(last)
    if (event === undefined || /[._](deleted|ended)$/.test(event.type)) return true
    if (damageOf?.(record) !== undefined) return true
    const all = membersOf(record)
    return Object.entries({ state: {}, ...event.changes }).some(
      ([member, { to }]: [string, EventChanges[string]]) => member in all && all[member] !== to,
    )
  }
  /** The records of such rows, each marked if it contradicts its last event. */
  function check(db: Db, found: readonly RowWithEvent<T>[]): Checked<Record>[] {
    const note = noteOf(db)
    return found.map((row) => {
      const record = fromRow(row)
      const contradicted = isContradicted(record, row.last_event)
      note?.({ ledgerId: ledger.of(record), subject: `${name} ${record.id}` }, contradicted)
      return contradicted ? { ...record, contradicted } : record
    })
  }
  /** Reads rows without comparing them with their last events. */
  async function readUnchecked(db: Db, refine: Refine<T, Row<T>> = (all) => all) {
    return ((await refine(select(db)).execute()) as Row<T>[]).map(fromRow)
  }
  /**
   * The changes of an event: members with old and new value, and as `state` the digest of the whole row.
   * Empty if nothing has changed.
   */
  function changes(before: Record | undefined, after: Record): EventChanges {
    const changed = eventChanges(before && members(before), members(after))
    if (before !== undefined && Object.keys(changed).length === 0) return {}
    return { ...changed, ...state(after) }
  }
  /** The event that has all members of a record, such as that of a new one. */
  const eventOf = (verb: Verb | 'recorded', record: Record): NewEvent =>
    eventAbout(`${name}.${verb}`, record.id, changes(undefined, record))
  const recordsOf =
    options.recordsOf ??
    ((db: Db, ledgerId: string) =>
      readUnchecked(db, (all) => all.where(sql<boolean>`${ledger.inQuery} = ${ledgerId}`)))

  return {
    name,
    table: table as Table,
    isComparedAtRead: true as const,
    scope: ledger.scope,
    eventTypes: [...options.events, 'recorded'].map((verb) => `${name}.${verb}`),
    ...(ledger !== systemLedger && {
      ledgerIds: sql`select ${ledger.inQuery} as id from ${sql.table(table.name)}`,
    }),
    lastEvent,
    rows,
    check,
    readUnchecked,
    async read(db: Db, refine: Refine<T, RowWithEvent<T>> = (all) => all) {
      return check(db, (await refine(rows(db)).execute()) as RowWithEvent<T>[])
    },
    /** Only for tables whose ids are unique. */
    async find(db: Db, value: string) {
      return check(db, await findById(db, { id: value }))[0]
    },
    /** Finds a row as `find` does, and locks it with `locked`. */
    async lock(db: Db, value: string) {
      return check(db, await lockById(db, { id: value }))[0]
    },
    changes,
    state,
    event: (verb: Verb, subjectId: string, changed: EventChanges): NewEvent =>
      eventAbout(`${name}.${verb}`, subjectId, changed),
    eventOf,
    effects: effectsOf(name),
    async rowsOf(db: Db, ledgerId: string) {
      return (await recordsOf(db, ledgerId)).map((record) => ({
        id: record.id,
        members: membersOf(record),
        damage: damageOf?.(record),
      }))
    },
    accept:
      options.accept ??
      (async (db: Db, ledgerId: string) =>
        (await recordsOf(db, ledgerId)).map((record) => eventOf('recorded', record))),
  }
}

/** Undefined if there is none, or it is not an event any more. */
function parseLastEvent(
  text: string | null,
): (Pick<NewEvent, 'type'> & { changes: EventChanges }) | undefined {
  const end = text?.indexOf(' ') ?? -1
  const changes = text === null ? undefined : parseChanges(text.slice(end + 1))
  return text === null || changes === undefined ? undefined : { type: text.slice(0, end), changes }
}

const actions: { [verb: string]: Effect['action'] } = {
  created: 'set',
  recorded: 'set',
  started: 'set',
  deleted: 'delete',
  ended: 'delete',
}

/** The effects of events about the subject itself, whose types begin with its name. */
function effectsOf(name: string): AnySubject['effects'] {
  return ({ type, subject, changes = {} }) => {
    const [kind, verb = ''] = type.split('.')
    return kind === name ? [{ id: subject.id, action: actions[verb] ?? 'change', changes }] : []
  }
}

/** The members of a subject after an event, given those before it. */
export function applyEffect(before: Members, { action, changes }: Effect): Members {
  const after: Members = action === 'set' ? {} : { ...before }
  for (const [name, { to }] of Object.entries(changes)) after[name] = to
  return { ...after, state: changes.state?.to }
}
