import type { Change, ChangeResults, ChangeType } from '../../core/ledger/changes.ts'
import { type ErrorCode, type ErrorExtras, PubringError } from '../../errors.ts'

/** What the store asks of the writing thread. */
export type WriterMessage = { type: 'commit'; changes: Change[] } | { type: 'close' }

/** What the writing thread answers; `replies` has one entry per change, in order. */
export type WriterAnswer =
  | { type: 'ready' }
  | { type: 'failed'; error: PackedError }
  | { type: 'committed'; replies: Reply[] }
  /** The whole batch came to nothing: the storage does not take any change now. */
  | { type: 'lost'; error: PackedError }

export type Reply =
  | { ok: true; result: ChangeResults[ChangeType] }
  | { ok: false; error: PackedError }

/** An error between threads: structured cloning would lose its class and its code. */
export type PackedError =
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
