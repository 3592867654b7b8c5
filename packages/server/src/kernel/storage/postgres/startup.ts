import { setTimeout as delay } from 'node:timers/promises'
import { describeCause } from '../../../errors.ts'
import { isStorageUnavailable } from '../../storage-faults.ts'
import { sqlState } from '../errors.ts'
import type { Migrations } from '../migrations/building.ts'
import type { PostgresDatabase } from './database.ts'
import { NoUsableHost, unavailable } from './errors.ts'
import { migratePostgres } from './migrate.ts'
import { type ServerInfo, unbound } from './pool.ts'

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
        throw new UnusableDatabase(`None of its hosts answers as a primary: ${causeOf(error)}`)
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
  if (version < 140_000) throw new UnusableDatabase('It must be PostgreSQL 14 or later')
  if (encoding !== 'UTF8') throw new UnusableDatabase(`Its encoding must be UTF8, not ${encoding}`)
}

/** Why an attempt has failed, if the database or the network has said so. */
function causeOf(error: unknown): string | undefined {
  return error instanceof Error ? describeCause(error.cause) : undefined
}

/**
 * Replaces an error that waiting does not resolve by one that says what to correct: every host has
 * such an error, or the one that was reached.
 */
export function explainStartError(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined
  if (!(cause instanceof NoUsableHost)) {
    const reason = reasonOf(cause)
    return reason === undefined ? error : new UnusableDatabase(`It ${reason}`)
  }
  const reasons = cause.failures.map((failure) => [failure.host, reasonOf(failure.error)])
  if (reasons.some(([, reason]) => reason === undefined)) return error
  return new UnusableDatabase(reasons.map((each) => each.join(' ')).join('; '))
}

/** What the host does, for which the settings have to be corrected. */
export function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { message } = error
  const state = sqlState(error) ?? ''
  const code = 'code' in error ? String(error.code) : ''
  if (message === unbound) return 'offers no channel binding, which channel_binding=require needs'
  if (state === '28P01' || message.startsWith('SASL')) return 'rejects this user or password'
  // The message is in the language of the server.
  if (state.startsWith('28')) {
    return Reflect.get(error, 'routine') === 'ClientAuthentication'
      ? 'admits no such user, database and address, with this sslmode: correct the URL, or pg_hba.conf'
      : 'has no user of this name that may log in: create it, or correct the name'
  }
  // pgbouncer sends no SQLSTATE.
  if (state === '3D000' || /no such database|database .* does not exist/.test(message)) {
    return 'has no database of this name: create it, or correct the name'
  }
  if (state === '42501') return 'denies its user a privilege that is needed (CONNECT or CREATE)'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return 'has a certificate for another name: use a name that is in it, or sslmode=verify-ca'
  }
  if (code === 'CERT_HAS_EXPIRED') return 'has a certificate that has expired: renew it'
  if (/SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)/.test(code)) {
    return `has a certificate that sslrootcert does not confirm (${code}): correct sslrootcert`
  }
  if (/CERT|TLS|SSL/.test(code))
    return `fails the TLS handshake (${code}): correct the TLS settings`
  if (/does not support SSL/.test(message)) {
    return 'has no TLS, which sslmode requires: enable it, or use sslmode=prefer'
  }
  return undefined
}
