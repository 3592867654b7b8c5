import { setTimeout as delay } from 'node:timers/promises'
import { isStorageUnavailable } from '../../storage-faults.ts'
import type { Migrations } from '../migrations/building.ts'
import type { PostgresDatabase } from './database.ts'
import { sqlState, unavailable } from './errors.ts'
import { migratePostgres } from './migrate.ts'
import type { ServerInfo } from './pool.ts'

/** How long a command waits for the database, which may be starting or failing over. */
const startTimeoutMs = 10_000

/** Pause between two attempts to reach it. */
const retryPauseMs = 250

class UnusableDatabase extends Error {
  constructor(reason: string) {
    super(`The PostgreSQL database cannot be used. ${reason}.`)
  }
}

/** Waits for the server to respond. Rejects with the reason if the database cannot be used. */
export async function waitUntilUsable(
  database: PostgresDatabase,
  timeoutMs = startTimeoutMs,
): Promise<ServerInfo> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    try {
      const info = await database.serverInfo()
      requireUsable(info)
      return info
    } catch (error) {
      const explained = explainStartError(error)
      if (explained instanceof UnusableDatabase) throw explained
      if (performance.now() >= deadline) {
        throw new UnusableDatabase('None of its hosts answered as a primary')
      }
    }
    await delay(retryPauseMs)
  }
}

/**
 * Brings the schema up to date as soon as the database can be reached, however long that takes.
 * Rejects with the reason if waiting does not help. Never settles after the signal.
 */
async function prepareWhenReachable(
  database: PostgresDatabase,
  migrations: Migrations,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      requireUsable(await database.serverInfo())
      return await migratePostgres(database, migrations)
    } catch (error) {
      const explained = explainStartError(error)
      if (explained !== error || !isStorageUnavailable(error)) throw explained
    }
    await delay(retryPauseMs)
  }
  return new Promise(() => {})
}

/** A database whose schema may not be known yet. */
interface UnpreparedDatabase {
  /** Rejects every use with `storage_unavailable` until the schema is up to date. */
  database: PostgresDatabase
  /** Resolves then. Rejects with one line for a person if the database cannot be used. */
  prepared: Promise<void>
}

/** Prepares the database in the background, and rejects reads and writes until it is done. */
export function prepareInBackground(
  raw: PostgresDatabase,
  migrations: Migrations,
): UnpreparedDatabase {
  const closing = new AbortController()
  let isPrepared = false
  const prepared = prepareWhenReachable(raw, migrations, closing.signal).then(() => {
    isPrepared = true
  })
  // The server may still be starting to listen when it fails.
  prepared.catch(() => undefined)
  const whenPrepared = <Arguments extends unknown[], Result>(
    use: (...values: Arguments) => Promise<Result>,
  ) => {
    return async (...values: Arguments): Promise<Result> => {
      if (isPrepared) return use(...values)
      throw unavailable('The database has not been reached since this server started.')
    }
  }
  return {
    database: {
      ...raw,
      read: whenPrepared(raw.read) as PostgresDatabase['read'],
      begin: whenPrepared(raw.begin),
      close() {
        closing.abort()
        return raw.close()
      },
    },
    prepared,
  }
}

function requireUsable({ version, encoding }: ServerInfo): void {
  if (version < 140_000) throw new UnusableDatabase('It must be PostgreSQL 14 or later')
  if (encoding !== 'UTF8') throw new UnusableDatabase(`Its encoding must be UTF8, not ${encoding}`)
}

/** Replaces an error that waiting does not resolve by one that says what to correct. */
export function explainStartError(error: unknown): unknown {
  const reason = reasonOf(error)
  return reason === undefined ? error : new UnusableDatabase(reason)
}

function reasonOf(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  const state = sqlState(cause) ?? ''
  const text = cause instanceof Error ? cause.message : ''
  if (state.startsWith('28') || text.startsWith('SASL')) {
    return 'It rejected this user or password'
  }
  // pgbouncer sends no SQLSTATE.
  if (state === '3D000' || /no such database|database .* does not exist/.test(text)) {
    return 'The server has no database of this name: create it, or correct the name'
  }
  if (state === '42501') return 'Its user lacks a privilege that is needed (CONNECT or CREATE)'
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (/CERT|TLS|SSL|UNABLE_TO/.test(code)) return `TLS failed: ${code}`
  if (/does not support SSL/.test(text)) return 'The server has no TLS, which sslmode requires'
  return undefined
}
