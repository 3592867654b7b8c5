import { withTimeout } from '../async/with-timeout.ts'
import { PubringError } from '../errors.ts'

/** Whether the error says that the database cannot answer, and nothing about the request. */
export function isStorageUnavailable(error: unknown): boolean {
  return error instanceof PubringError && error.code === 'storage_unavailable'
}

/** Rejects with `storage_unavailable` unless the store answers within that many milliseconds. */
export function withStorageTimeout<Result>(
  answer: Promise<Result>,
  timeoutMs: number,
): Promise<Result> {
  return withTimeout(answer, timeoutMs, () => {
    const detail = 'The database does not answer in time. Try again in a few seconds.'
    return new PubringError('storage_unavailable', detail, { retryAfter: 5 })
  })
}
