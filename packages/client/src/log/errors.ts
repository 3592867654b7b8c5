/**
 * Why a document of the log proves nothing:
 *
 * - `malformed`: the text does not have the format of its specification.
 * - `untrusted`: no signature of a trusted key is valid, or one of them is invalid.
 * - `disproved`: the documents are authentic and contradict each other, or the ledger.
 */
export type LogErrorCode = 'malformed' | 'untrusted' | 'disproved'

/** The only error class of the log's functions. */
export class LogError extends Error {
  override readonly name = 'LogError'
  readonly code: LogErrorCode

  constructor(code: LogErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}
