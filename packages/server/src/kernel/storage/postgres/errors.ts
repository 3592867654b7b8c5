import { withTimeout } from '../../../async/semaphore.ts'
import { PubringError } from '../../../errors.ts'
import { storageUnavailable } from '../../faults.ts'
import { sqlState } from '../errors.ts'

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

export function databaseBusy(): PubringError {
  const detail =
    'The database is busy: no connection became available in time. Try again in a few seconds.'
  return storageUnavailable(detail, 2)
}
