import { withTimeout } from '../async/with-timeout.ts'
import { PubringError } from '../errors.ts'

/** Whether the database was unavailable, and the request itself may be fine. */
export function isStorageUnavailable(error: unknown): boolean {
  return error instanceof PubringError && error.code === 'storage_unavailable'
}

/** `retryAfter`: seconds. The cause is for the log. */
export function storageUnavailable(detail: string, retryAfter = 5, cause?: unknown): PubringError {
  return new PubringError('storage_unavailable', detail, { retryAfter }, cause)
}

/** Rejects with `storage_unavailable` after the timeout. */
export function withStorageTimeout<Result>(
  operation: Promise<Result>,
  timeoutMs: number,
): Promise<Result> {
  return withTimeout(operation, timeoutMs, () =>
    storageUnavailable('The database did not respond in time. Try again in a few seconds.'),
  )
}

/**
 * The error for a project whose row contradicts its ledger. As while the database is unavailable, the
 * last good documents are served for a limited time.
 */
export function contradictedProject(): PubringError {
  return storageUnavailable(
    'The stored project contradicts its ledger, so it is not served. Ask the operator to run pubring check.',
    60,
  )
}
