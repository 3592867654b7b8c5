import { withTimeout } from '../../../async/with-timeout.ts'
import { describeCause, PubringError } from '../../../errors.ts'
import { isStorageUnavailable, storageUnavailable } from '../../storage-faults.ts'

/**
 * The meaning of a database error for the caller. SQLSTATEs are those of appendix A of the
 * PostgreSQL manual; errors without one come from the connection.
 */
type ErrorClass =
  /** The session is unusable, and the outcome of its last statement is unknown. */
  | 'lost'
  /** The server responds but does not accept writes. */
  | 'read-only'
  /** A concurrent change got in the way; a retry succeeds or is rejected for a lasting reason. */
  | 'conflict'
  /** The server cannot do it at the moment. */
  | 'unavailable'
  | 'other'

const conflictStates = ['40001', '40P01', '23505']

/** 08 connection, 57P01 to 57P05 shutdown, 58 system error, XX001 and XX002 corruption. */
const lostStates = /^(08...|57P0[1-5]|58...|XX00[12])$/

/** 28 authentication, 3D database, 42501, 42P01 rights and tables, 53 resources, 55, 57014, 25P03. */
const unavailableStates = /^(28...|3D...|42501|42P01|53...|55000|55P03|57014|25P0[34])$/

/** Every SQLSTATE has a digit; a system error code such as `EPIPE` has none. */
export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const { code } = error
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/**
 * A migration has changed the columns of a prepared statement's result. The server names the routine
 * because the SQLSTATE, `feature_not_supported`, has other causes too; the message is translated. All
 * sessions are replaced, since each may have such a plan.
 */
function isStalePlan(error: unknown): boolean {
  return error instanceof Error && 'routine' in error && error.routine === 'RevalidateCachedQuery'
}

export function classify(error: unknown): ErrorClass {
  if (error instanceof PubringError) return isStorageUnavailable(error) ? 'unavailable' : 'other'
  const state = sqlState(error)
  if (state === undefined) return isConnectionError(error) ? 'lost' : 'other'
  if (state === '25006') return 'read-only'
  if (isStalePlan(error)) return 'lost'
  if (conflictStates.includes(state)) return 'conflict'
  if (lostStates.test(state)) return 'lost'
  return unavailableStates.test(state) ? 'unavailable' : 'other'
}

/** Network errors carry a system error code; those that `pg` creates have only a message. */
function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return (
    /^(E[A-Z]{3,}|ERR_(TLS|SSL|SOCKET|STREAM)_\w+|[A-Z_]*CERT[A-Z_]*|UNABLE_TO_\w+)$/.test(code) ||
    /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout ex|The server does not support SSL)/.test(
      error.message,
    )
  )
}

/** No host of the database can be used. The message has the cause of each. */
export class NoUsableHost extends Error {
  override readonly name = 'NoUsableHost'
  readonly failures: readonly { host: string; error: unknown }[]

  constructor(failures: NoUsableHost['failures']) {
    super(failures.map(({ host, error }) => `${host}: ${describeCause(error)}`).join('; '))
    this.failures = failures
  }
}

/** All connections that the server, or pgbouncer, allows are in use. */
export function hasNoFreeConnection(error: unknown): boolean {
  const cause = error instanceof PubringError ? error.cause : error
  const isFull = cause instanceof Error && cause.message.includes('no more connections allowed')
  return isFull || sqlState(cause) === '53300'
}

/** Rejects with an error of the class `lost` unless the promise settles in time. */
export function withConnectionTimeout<Result>(
  promise: Promise<Result>,
  timeoutMs: number,
): Promise<Result> {
  return withTimeout(promise, timeoutMs, () =>
    Object.assign(new Error('the database did not respond in time'), { code: 'ETIMEDOUT' }),
  )
}

/** Turns errors of the database into `storage_unavailable`, and leaves others as they are. */
export function toStorageError(error: unknown): unknown {
  switch (classify(error)) {
    case 'lost':
      return unavailable('The database cannot be reached. Try again in a few seconds.', error)
    case 'read-only':
      return readOnly(error)
    case 'conflict':
      return unavailable('Too many concurrent changes. Nothing was changed; try again.', error)
    case 'unavailable':
      if (error instanceof PubringError) return error
      return unavailable('The database is not available at the moment. Try again shortly.', error)
    case 'other':
      return error
  }
}

export function unavailable(detail: string, cause?: unknown): PubringError {
  return storageUnavailable(detail, undefined, cause)
}

export function readOnly(cause?: unknown): PubringError {
  return unavailable('The database is read-only at the moment. Nothing was changed.', cause)
}

/** The outcome of a commit could not be determined. */
export function unconfirmedChange(cause: unknown): PubringError {
  return unavailable(
    'The connection to the database was lost before it confirmed the change. Check whether the change was made; if not, repeat it.',
    cause,
  )
}

export function databaseBusy(): PubringError {
  const detail =
    'The database is busy: no connection became available in time. Try again in a few seconds.'
  return storageUnavailable(detail, 2)
}

export function queueFull(): PubringError {
  const detail = 'Too many requests are waiting for the database. Try again shortly.'
  return new PubringError('overloaded', detail, { retryAfter: 1 })
}
