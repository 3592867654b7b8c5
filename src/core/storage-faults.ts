import { PubringError } from '../errors.ts'

/** Whether the error says that the database cannot answer, and nothing about what was asked. */
export function isStorageAway(error: unknown): boolean {
  return error instanceof PubringError && error.code === 'storage_unavailable'
}

/** Rejects with `storage_unavailable` where the answer takes longer than `patience` milliseconds. */
export function inTime<Result>(answer: Promise<Result>, patience: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const detail = 'The database does not answer in time. Try again in a few seconds.'
      reject(new PubringError('storage_unavailable', detail, { retryAfter: 5 }))
    }, patience)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
