import { PubringError } from '../../errors.ts'

/**
 * What an error of the database means for those who asked. SQLSTATEs are those of appendix A of the
 * PostgreSQL manual; an error without one comes from the connection.
 */
type ErrorClass =
  /** The session is of no use any more, and perhaps the server: nothing is known of what ran last. */
  | 'lost'
  /** The server answers, and changes nothing. */
  | 'read-only'
  /** Two changes met: the same once more finds a state in which it can be carried out or refused. */
  | 'conflict'
  /** The server could not do it now. */
  | 'refused'
  | 'other'

const conflicts = ['40001', '40P01', '23505']

/** 08 connection, 57P01 to 57P05 shutdown and the like, 58 system error. */
const losses = /^(08...|57P0[1-5]|58...|XX00[12])$/

/** 28 authentication, 3D database, 42501, 42P01 rights and tables, 53 resources, 55, 57014, 25P03. */
const refusals = /^(28...|3D...|42501|42P01|53...|55000|55P03|57014|25P0[34])$/

export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined
}

export function classify(error: unknown): ErrorClass {
  if (error instanceof PubringError) {
    return error.code === 'storage_unavailable' ? 'refused' : 'other'
  }
  const state = sqlState(error)
  if (state === undefined) return isOfConnection(error) ? 'lost' : 'other'
  if (state === '25006') return 'read-only'
  if (conflicts.includes(state)) return 'conflict'
  if (losses.test(state)) return 'lost'
  return refusals.test(state) ? 'refused' : 'other'
}

/** An answer that did not come in time: the session is given up. */
export function responseTimeout(): Error {
  return Object.assign(new Error('the database did not answer in time'), { code: 'ETIMEDOUT' })
}

/** Errors of the network carry a system's code; those that `pg` makes itself have a text alone. */
function isOfConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return (
    /^(E[A-Z]{3,}|ERR_(TLS|SSL|SOCKET|STREAM)_\w+|[A-Z_]*CERT[A-Z_]*|UNABLE_TO_\w+)$/.test(code) ||
    /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout ex|The server does not support SSL)/.test(
      error.message,
    )
  )
}

/** As callers meet it: what says that the database cannot answer is `storage_unavailable`. */
export function toStorageError(error: unknown): unknown {
  switch (classify(error)) {
    case 'lost':
      return unavailable('The database cannot be reached. Try again in a few seconds.', error)
    case 'read-only':
      return unavailable('The database is read-only at the moment. Nothing was changed.', error)
    case 'conflict':
      return unavailable('Too many changes met at once. Nothing was changed; try again.', error)
    case 'refused':
      if (error instanceof PubringError) return error
      return unavailable('The database cannot answer at the moment. Try again shortly.', error)
    case 'other':
      return error
  }
}

export function unavailable(detail: string, cause?: unknown): PubringError {
  return new PubringError('storage_unavailable', detail, { retryAfter: 5 }, cause)
}

/** Nobody could find out whether the change took place. */
export function unconfirmedChange(cause: unknown): PubringError {
  return unavailable(
    'The connection to the database broke before it could confirm the change. Check whether it took place, then repeat it if not.',
    cause,
  )
}

export function databaseBusy(): PubringError {
  return new PubringError(
    'storage_unavailable',
    'The database is busy: no connection to it became free in time. Try again in a few seconds.',
    { retryAfter: 2 },
  )
}

export function queueFull(): PubringError {
  const detail = 'Too many requests are waiting for the database. Try again shortly.'
  return new PubringError('overloaded', detail, { retryAfter: 1 })
}
