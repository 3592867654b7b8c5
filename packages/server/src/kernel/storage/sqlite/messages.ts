import { type ErrorCode, type ErrorExtras, PubringError } from '../../../errors.ts'

/** A change and the name of its kind. Its type is known where it is committed, but not in the thread. */
export interface SentChange<Change = never> {
  type: string
  change: Change
}

/** A message to the writing thread. */
export type WriterMessage<Change = never> =
  | { type: 'commit'; changes: SentChange<Change>[] }
  | { type: 'close' }

/** A message from the writing thread. */
export type WriterReply =
  | { type: 'ready' }
  | { type: 'start_failed'; error: PackedError }
  /** One result for each change of the batch, in order. */
  | { type: 'committed'; results: WriterResult[] }
  /** The storage accepted no change of the batch. */
  | { type: 'batch_failed'; error: PackedError }

export type WriterResult = { ok: true; value: unknown } | { ok: false; error: PackedError }

/** An error between threads: structured cloning would lose its class and code. */
type PackedError =
  | { code: ErrorCode; detail: string; extras: ErrorExtras; cause?: string }
  | { code?: never; detail: string; cause: string }

export function packError(error: unknown): PackedError {
  if (error instanceof PubringError) {
    const { code, message, extras, cause } = error
    return {
      code,
      detail: message,
      extras,
      ...(cause === undefined ? {} : { cause: describe(cause) }),
    }
  }
  const detail = error instanceof Error ? error.message : String(error)
  return { detail, cause: describe(error) }
}

export function unpackError(packed: PackedError): Error {
  if (packed.code === undefined) return new Error(packed.detail, { cause: packed.cause })
  return new PubringError(packed.code, packed.detail, packed.extras, packed.cause)
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
