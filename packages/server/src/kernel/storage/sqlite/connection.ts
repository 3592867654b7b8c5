import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { Kysely, type LimitNode, SqliteDialect, SqliteQueryCompiler } from 'kysely'
import { classify, toReadError, toStorageError } from '../errors.ts'
import { requireOwnTables, sqliteTables } from '../identity.ts'
import type { Tables } from '../schema.ts'
import { runDirectly } from '../statements.ts'
import { checkFile, checkPath } from './file.ts'

/** How long a writer waits for a lock that another process holds. */
const writerTimeoutMs = 5_000

/** In WAL mode a reader waits only for a recovery of the log, and blocks the event loop until then. */
const readerTimeoutMs = 100

/** Prepared statements per connection; far more than there are distinct ones. */
const maxPreparedStatements = 200

/** How long a reader relies on its last check of the file. */
const fileCheckIntervalMs = 100

/** A connection to a SQLite file, with Kysely over it. */
export interface SqliteConnection {
  db: Kysely<Tables>
  /** Runs one statement and returns its rows. */
  run(text: string, parameters?: readonly unknown[]): unknown[]
  /** False once SQLite has ended the transaction itself, as it does when the disk is full. */
  inTransaction(): boolean
  /**
   * Changes whenever another connection, of any process, has committed, and when this one was
   * reopened. Throws `storage_unavailable`.
   */
  version(): number
  /** Changes whenever a table is created, altered or dropped. Throws `storage_unavailable`. */
  schema(): number
  close(): void
}

export interface SqliteOptions {
  file: string
  role: 'reader' | 'writer'
  /**
   * A descriptor of the same file. If set, each use checks that the file is still the database, and
   * a connection is reopened after a fault. Absent in commands, which exit on a fault.
   */
  descriptor?: number
}

/**
 * Opens the file in WAL mode with `synchronous=FULL`: a commit that has returned is on the disk. A
 * `reader` cannot write. Throws `storage_unavailable` if the file cannot be used. Long because all of
 * it depends on the connection that `reopen` replaces.
 */
export function openSqlite(options: SqliteOptions): SqliteConnection {
  const { file, role, descriptor } = options
  const statements = new Map<string, ReturnType<typeof wrapStatement>>()
  const toError = role === 'reader' ? toReadError : toStorageError
  let isSound = true
  let nextCheck = 0
  let reopenings = 0

  /** Has the connection reopened after an error with which it may have cached pages that differ from the file. */
  function guard<Result>(call: () => Result): Result {
    try {
      return call()
    } catch (error) {
      if (classify(error) === 'unreadable') isSound = false
      throw toError(error)
    }
  }
  let database = guard(() => openDatabase(options))
  /** Opens before it closes: closing the last connection would empty the log. */
  function reopen(): void {
    const old = database
    database = guard(() => openDatabase(options))
    statements.clear()
    reopenings += 1
    isSound = true
    old.close()
  }
  function ensureSound(descriptor: number): void {
    const now = performance.now()
    if (isSound && role === 'reader' && now < nextCheck) return
    const wasSound = isSound
    isSound = false
    guard(() => checkFile(file, descriptor))
    if (wasSound) isSound = true
    else reopen()
    nextCheck = now + fileCheckIntervalMs
  }
  function prepare(text: string) {
    if (descriptor !== undefined && !database.isTransaction) ensureSound(descriptor)
    const prepared = statements.get(text)
    if (prepared !== undefined) return prepared
    if (statements.size >= maxPreparedStatements) statements.clear()
    const statement = wrapStatement(
      guard(() => database.prepare(text)),
      guard,
    )
    statements.set(text, statement)
    return statement
  }
  function close(): void {
    database.close()
  }
  function run(text: string, parameters: readonly unknown[] = []): unknown[] {
    const statement = prepare(text)
    if (statement.reader) return statement.all(parameters)
    statement.run(parameters)
    return []
  }
  // Kysely's driver needs only `prepare` and `close` of a database.
  const dialect = new SqliteDialect({ database: { prepare, close } })
  const createQueryCompiler = () => new QueryCompiler()
  const db = new Kysely<Tables>({ dialect: Object.assign(dialect, { createQueryCompiler }) })
  runDirectly(db, run)
  return {
    db,
    run,
    inTransaction: () => database.isTransaction,
    // SQLite counts in 32 bits, from the start for each connection.
    version: () =>
      reopenings * 2 ** 32 + Number(prepare('PRAGMA data_version').first()?.data_version),
    schema: () => Number(prepare('PRAGMA schema_version').first()?.schema_version),
    close,
  }
}

/**
 * SQLite compiles a prepared statement anew whenever its `limit` is bound, because it plans for that
 * number: this takes several times what a look-up does. It does not plan for the value of a sum.
 */
class QueryCompiler extends SqliteQueryCompiler {
  protected override visitLimit({ limit }: LimitNode): void {
    this.append('limit ')
    this.visitNode(limit)
    this.append(' + 0')
  }
}

function openDatabase({ file, role, descriptor }: SqliteOptions): DatabaseSync {
  const isReader = role === 'reader'
  if (descriptor !== undefined) checkPath(file, descriptor)
  const database = new DatabaseSync(file, {
    readOnly: isReader,
    timeout: isReader ? readerTimeoutMs : writerTimeoutMs,
  })
  try {
    // Before WAL mode, which would change the file of another program.
    requireOwnFile(database, `The database ${file}`)
  } catch (error) {
    database.close()
    throw error
  }
  if (!isReader) {
    database.exec('PRAGMA journal_mode = WAL')
    database.exec('PRAGMA synchronous = FULL')
    database.exec('PRAGMA wal_autocheckpoint = 4000')
  }
  // So that a process without a free descriptor or a writable /tmp keeps working.
  database.exec('PRAGMA temp_store = MEMORY')
  database.exec('PRAGMA trusted_schema = OFF')
  return database
}

/** Throws unless the file, which `name` names, is empty or a database of Pubring. */
export function requireOwnFile(database: DatabaseSync, name: string): void {
  const rows = database.prepare(sqliteTables).all()
  const application = database.prepare('PRAGMA application_id').get()?.application_id
  requireOwnTables(
    name,
    rows.map((row) => String(row.name)),
    Number(application),
  )
}

function wrapStatement(statement: StatementSync, guard: <Result>(call: () => Result) => Result) {
  const bind = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
  return {
    reader: statement.columns().length > 0,
    first: () => guard(() => statement.get()),
    all: (parameters: readonly unknown[]) => guard(() => statement.all(...bind(parameters))),
    run: (parameters: readonly unknown[]) => guard(() => statement.run(...bind(parameters))),
    iterate: (parameters: readonly unknown[]) => statement.iterate(...bind(parameters)),
  }
}

/** Commits what the work writes, or rolls it back if it fails. */
export async function withTransaction<Result>(
  connection: SqliteConnection,
  work: () => Promise<Result>,
): Promise<Result> {
  connection.run(begin)
  try {
    const result = await work()
    connection.run(commit)
    return result
  } catch (error) {
    if (connection.inTransaction()) connection.run(rollback)
    throw error
  }
}

export const begin = 'BEGIN IMMEDIATE'
export const commit = 'COMMIT'
export const rollback = 'ROLLBACK'
export const savepoint = 'SAVEPOINT change'
export const release = 'RELEASE change'
export const rollbackToSavepoint = 'ROLLBACK TO change'
