import type { KeySetError } from './errors.ts'
import type { VerifyKey } from './import.ts'

/**
 * How a key set is kept; every time is in milliseconds.
 *
 * @example
 * const keys = projectKeySet(issuer, { maxStale: 120_000, onChange: ({ status }) => log(status) })
 */
export type KeySetOptions = {
  /**
   * How long keys are trusted without contact to the service; 30,000 where left out, 3,000 at least.
   * It bounds how long a deactivated key can be trusted when the network is cut, and how long an
   * outage may last before tokens are refused. A question waits for news for a third of it.
   */
  maxStale?: number
  /** Between two loads because of unknown kids, at least; 5,000 where left out. */
  coolDown?: number
  /** How long a load may take; 5,000 where left out. */
  timeout?: number
  /** How long the key set is followed after its last use; 300,000 where left out. */
  idleAfter?: number
  /** Used in place of the global `fetch`. */
  fetch?: typeof globalThis.fetch
  /** Called after each change of the state or of the keys: for logs and health checks. */
  onChange?: (state: KeySetState) => void
}

/**
 * How a key set is, for health checks.
 *
 * @example
 * const healthy = !['stale', 'closed'].includes(keys.state().status)
 */
export type KeySetState = {
  /**
   * - `empty`: not loaded yet.
   * - `live`: the service tells of changes at once.
   * - `polling`: something in between does not let it, so the key set is asked for every few seconds.
   * - `interrupted`: no contact at the moment; the keys are still trusted.
   * - `stale`: no contact for longer than `maxStale`; nothing is trusted.
   * - `idle`: not used for a while; loaded anew with the next use.
   * - `closed`: closed for good.
   */
  status: 'empty' | 'live' | 'polling' | 'interrupted' | 'stale' | 'idle' | 'closed'
  /** Of the active keys, as last heard. */
  kids: string[]
  /** Since when what is held may be out of date. */
  contactTime?: Date
  /** Why there is no contact. */
  error?: KeySetError
}

/** What decides in a token's header (RFC 7515 section 4.1). */
export type TokenHeader = { alg?: string | undefined; kid?: string | undefined }

/**
 * The key argument of jose's `jwtVerify`, and what keeps it up to date.
 *
 * @example
 * await keys.ready()
 * process.once('SIGTERM', keys.close)
 */
export type ProjectKeySet = {
  /** The key that the header names. Throws `KeySetError` where there is none to trust. */
  (protectedHeader: TokenHeader, token?: unknown): Promise<VerifyKey>
  /** Loads and follows the key set before its first use. Throws where it cannot be loaded. */
  ready(): Promise<void>
  state(): KeySetState
  /** Ends all requests and timers, for good. */
  close(): void
}
