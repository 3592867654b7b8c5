import { setTimeout as delay } from 'node:timers/promises'
import { describeCause } from '../../../errors.ts'
import { isStorageUnavailable } from '../../storage-faults.ts'
import type { Migrations } from '../migrations/building.ts'
import type { PostgresDatabase } from './database.ts'
import { unavailable } from './errors.ts'
import { type HostFailure, hostFailure, NoUsableHost } from './host-failures.ts'
import { migratePostgres } from './migrate.ts'
import type { ServerInfo } from './pool.ts'

/** How long a command waits for the database, which may be starting or failing over. */
const startTimeoutMs = 10_000

/** Pause between two attempts to reach it. */
const retryPauseMs = 250

/** The database cannot be used. The message is one line for a person. */
export class UnusableDatabase extends Error {
  /** Why the only host that was tried cannot be used. */
  readonly failure: HostFailure | undefined

  constructor(reason: string, failure?: HostFailure) {
    super(`The PostgreSQL database cannot be used. ${reason}.`)
    this.failure = failure
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
        const cause = error instanceof Error ? error.cause : undefined
        const failure = cause instanceof NoUsableHost ? cause.failures[0] : hostFailure(cause)
        throw new UnusableDatabase(`No host can be used: ${causeOf(error)}`, failure)
      }
    }
    await delay(retryPauseMs)
  }
}

/**
 * Brings the schema up to date as soon as the database can be reached, however long that takes.
 * Rejects with the reason if waiting does not help. Never settles after the signal. `onWait` gets the
 * cause of each failed attempt, and undefined once the database is reached.
 */
async function prepareWhenReachable(
  database: PostgresDatabase,
  migrations: Migrations,
  signal: AbortSignal,
  onWait: (cause: string | undefined) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      requireUsable(await database.serverInfo())
      onWait(undefined)
      return await migratePostgres(database, migrations)
    } catch (error) {
      const explained = explainStartError(error)
      if (explained !== error || !isStorageUnavailable(error)) throw explained
      onWait(causeOf(error))
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
  let cause: string | undefined
  const onWait = (reason: string | undefined) => {
    cause = reason
  }
  const prepared = prepareWhenReachable(raw, migrations, closing.signal, onWait).then(() => {
    isPrepared = true
  })
  // The server may still be starting to listen when it fails.
  prepared.catch(() => undefined)
  const whenPrepared = <Arguments extends unknown[], Result>(
    use: (...values: Arguments) => Promise<Result>,
  ) => {
    return async (...values: Arguments): Promise<Result> => {
      if (isPrepared) return use(...values)
      throw unavailable('The database is not ready yet. Try again in a few seconds.', cause)
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
  if (version < 140_000) throw unusable('must be PostgreSQL 14 or later')
  if (encoding !== 'UTF8') throw unusable(`must have the encoding UTF8, not ${encoding}`)
}

function unusable(text: string): UnusableDatabase {
  return new UnusableDatabase(`It ${text}`, { kind: 'settings', text })
}

/** Why an attempt has failed, if the database or the network has said so. */
function causeOf(error: unknown): string | undefined {
  return error instanceof Error ? describeCause(error.cause) : undefined
}

/**
 * Replaces an error that waiting does not resolve by one that says what to correct: all hosts reject
 * the settings, or the one that was reached does.
 */
export function explainStartError(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof NoUsableHost) {
    const isFinal = cause.failures.every(({ kind }) => kind === 'settings')
    return isFinal ? new UnusableDatabase(cause.message, cause.failures[0]) : error
  }
  const { kind, text } = hostFailure(cause)
  return kind === 'settings' ? unusable(text) : error
}
