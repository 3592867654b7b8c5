import { PubringError } from '@pubring/client'

/** Whether another attempt may succeed: the error is no answer of the service to the request itself. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof PubringError)) return true
  const { status, code } = error
  return status === undefined || status === 429 || status >= 500 || code === 'unexpected_response'
}

/** Tells the user what went wrong and, if the service says so, what to do. */
export function messageOf(error: unknown): string {
  if (error instanceof PubringError) return error.problem?.detail ?? error.message
  return error instanceof Error ? error.message : 'Unexpected error'
}
