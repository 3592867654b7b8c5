import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { Kysely, SqliteDialect, sql } from 'kysely'
import { PubringError } from '../../errors.ts'
import type { Tables } from '../schema.ts'
import { checkFile, checkPath } from './file.ts'

/** Milliseconds that a statement waits for a lock that another process holds. */
const busyTimeout = 5_000

/** In WAL mode readers wait for nobody but a recovery of the log; the event loop waits with them. */
const readerTimeout = 100

/** Statements kept prepared per connection; there are far fewer distinct ones. */
const maxPreparedStatements = 200

/** Milliseconds for which a reader trusts its last look at the file. */
const lookInterval = 100

/** One connection to a SQLite file, and Kysely over it. */
export interface SqliteConnection {
  db: Kysely<Tables>
  /** Whether a transaction is open: SQLite itself ends it where the disk is full. */
  inTransaction(): boolean
  /**
   * Another number whenever another connection, of whichever process, has committed, and where this
   * one was opened anew. Throws `storage_unavailable`.
   */
  version(): number
  /** Another number whenever a table was made, changed or dropped. Throws `storage_unavailable`. */
  schema(): number
  close(): void
}

export interface SqliteOptions {
  file: string
  role: 'reader' | 'writer'
  /**
   * Of the same file, held open: then every use makes sure that it still is the database, and a
   * connection that met a fault is opened anew. Absent: there is no server to keep running.
   */
  descriptor?: number
}

/**
 * Opens the file in WAL mode with `synchronous=FULL`: a commit that returned is on the disk. A
 * `reader` cannot write. Throws `storage_unavailable` where the file cannot be used.
 */
export function openSqlite(options: SqliteOptions): SqliteConnection {
  const connection = createConnection(options)
  return {
    db: new Kysely<Tables>({ dialect: new SqliteDialect({ database: connection }) }),
    inTransaction: () => connection.current().isTransaction,
    version: () => connection.version(),
    schema: () => connection.schema(),
    close: () => connection.close(),
  }
}

/** The face that Kysely's SQLite driver expects, over `node:sqlite`, with statements kept. */
function createConnection(options: SqliteOptions) {
  const { file, role, descriptor } = options
  const statements = new Map<string, ReturnType<typeof statementOf>>()
  let database = translated(() => openDatabase(options))
  let sound = true
  let lookAt = 0
  let openings = 0

  const guarded = <Result>(call: () => Result): Result =>
    translated(call, () => {
      sound = false
    })
  /** A new connection first, then the end of the old: the last one to close would empty the log. */
  function reopen(): void {
    const old = database
    database = translated(() => openDatabase(options))
    statements.clear()
    openings += 1
    sound = true
    old.close()
  }
  function look(held: number): void {
    const now = performance.now()
    if (sound && role === 'reader' && now < lookAt) return
    const wasSound = sound
    sound = false
    checkFile(file, held)
    if (wasSound) sound = true
    else reopen()
    lookAt = now + lookInterval
  }

  function prepare(text: string) {
    if (descriptor !== undefined && !database.isTransaction) look(descriptor)
    const known = statements.get(text)
    if (known !== undefined) return known
    if (statements.size >= maxPreparedStatements) statements.clear()
    const statement = statementOf(
      guarded(() => database.prepare(text)),
      guarded,
    )
    statements.set(text, statement)
    return statement
  }
  function version(): number {
    // SQLite counts in 32 bits, for each connection from the start.
    return openings * 2 ** 32 + Number(prepare('PRAGMA data_version').first()?.data_version)
  }

  function schema(): number {
    return Number(prepare('PRAGMA schema_version').first()?.schema_version)
  }

  return { current: () => database, close: () => database.close(), prepare, version, schema }
}

function openDatabase({ file, role, descriptor }: SqliteOptions): DatabaseSync {
  const reader = role === 'reader'
  if (descriptor !== undefined) checkPath(file, descriptor)
  const database = new DatabaseSync(file, {
    readOnly: reader,
    timeout: reader ? readerTimeout : busyTimeout,
  })
  if (!reader) {
    database.exec('PRAGMA journal_mode = WAL')
    database.exec('PRAGMA synchronous = FULL')
    database.exec('PRAGMA wal_autocheckpoint = 4000')
  }
  // A process without a spare descriptor, or without a writable /tmp, goes on.
  database.exec('PRAGMA temp_store = MEMORY')
  database.exec('PRAGMA trusted_schema = OFF')
  return database
}

function statementOf(statement: StatementSync, guarded: <Result>(call: () => Result) => Result) {
  const bind = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
  return {
    reader: statement.columns().length > 0,
    first: () => guarded(() => statement.get()),
    all: (parameters: readonly unknown[]) => guarded(() => statement.all(...bind(parameters))),
    run: (parameters: readonly unknown[]) => guarded(() => statement.run(...bind(parameters))),
    iterate: (parameters: readonly unknown[]) => statement.iterate(...bind(parameters)),
  }
}

export const begin = sql`BEGIN IMMEDIATE`
export const commit = sql`COMMIT`
export const rollback = sql`ROLLBACK`
export const savepoint = sql`SAVEPOINT change`
export const release = sql`RELEASE change`
export const rollbackToSavepoint = sql`ROLLBACK TO change`

/** Primary result codes (https://sqlite.org/rescode.html) and what they mean for the caller. */
const unavailable: Record<number, string> = {
  5: 'The database is locked by another process. Try again in a few seconds.',
  6: 'The database is locked. Try again in a few seconds.',
  8: 'The database is read-only at the moment. Nothing was changed.',
  10: 'The database could not be read or written. Nothing was changed.',
  11: 'The database is damaged.',
  13: 'The disk is full. Nothing was changed.',
  14: 'The database could not be opened.',
  26: 'The database file is not a database.',
}

/** Those after which a connection may hold pages that are not what the file has. */
const unsound = [10, 11, 26]

const missingPart = 'The database lacks a table or column of this release. Nothing was changed.'

/**
 * Runs the call; SQLite's refusals are thrown as `storage_unavailable`, all else as it is. Tells
 * where the connection is not to be trusted any more.
 */
function translated<Result>(call: () => Result, distrust: () => void = () => {}): Result {
  try {
    return call()
  } catch (error) {
    const code = resultCode(error)
    if (unsound.includes(code)) distrust()
    const detail = isPartMissing(error) ? missingPart : unavailable[code]
    if (detail === undefined) throw error
    throw new PubringError('storage_unavailable', detail, { retryAfter: 5 }, error)
  }
}

function resultCode(error: unknown): number {
  if (!(error instanceof Error) || !('errcode' in error)) return 0
  return typeof error.errcode === 'number' ? error.errcode & 0xff : 0
}

function isPartMissing(error: unknown): boolean {
  return resultCode(error) === 1 && error instanceof Error && /^no such /.test(error.message)
}
