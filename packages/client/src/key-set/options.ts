import type { Client } from '../client.ts'
import type { KeySetError } from './errors.ts'
import type { VerifyKey } from './import.ts'

/**
 * Options of `projectKeySet`. All times are in milliseconds.
 *
 * @example
 * const keys = projectKeySet(issuer, { maxStale: 120_000, onChange: ({ status }) => log(status) })
 */
export type KeySetOptions = {
  /**
   * How long keys are trusted without contact to the service. Default: 30,000; minimum: 3,000. It
   * limits how long a deactivated key is trusted when the network fails, and how long an outage may
   * last before tokens are rejected. A long poll waits for a third of it.
   */
  maxStale?: number
  /** Minimum time between two loads for unknown kids. Default: 5,000. */
  coolDown?: number
  /** Time limit of a load. Default: 5,000. */
  timeout?: number
  /** How long the key set is followed after its last use. Default: 300,000. */
  idleAfter?: number
  /**
   * Whether the key set is followed between its uses. If not, a use waits for a load once the last one
   * is older than `coolDown`. Default: true, but in Cloudflare Workers and Vercel's Edge Functions,
   * where nothing outlives a request, false.
   */
  background?: boolean
  /**
   * The log that the project's ledger is in. Only keys that the log has proven count: a new one does so up to
   * a minute later than without. A key set that differs from the log, or is older, is rejected; of a cache's
   * older copy, the keys that the log still has count. The address must have the project's id.
   */
  log?: LogOptions
  /**
   * Reports which keys sign the tokens that arrive here. Off by default. Only tokens with a valid signature
   * count, and only if `jwtVerify` passes the token, as it does. Not with `background: false`.
   */
  report?: ReportOptions
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch
  /** Called after each change of the status or the keys, for logs and health checks. */
  onChange?: (state: KeySetState) => void
}

/**
 * Who reports the uses of keys. Processes of one service report under one name, with one API key.
 *
 * @example
 * const client = createClient({ url: 'https://keys.example.com', apiKey })
 * const keys = projectKeySet(issuer, { report: { as: 'orders-api', client } })
 */
export type ReportOptions = {
  /** The name of the verifier: `a-z`, `0-9` and `-`. */
  as: string
  /** A client with an API key of the role `reader`. */
  client: { keyUses: Pick<Client['keyUses'], 'report'> }
  /** Milliseconds between two reports. Default: 3,600,000; minimum: 60,000. `close()` sends the last one. */
  every?: number
  /** Called with the error of a report, which is sent again later. */
  onError?: (error: unknown) => void
}

/**
 * Whose signatures a proof must have: verifier keys, as `pubring log key` and witnesses print them.
 *
 * @example
 * const keys = projectKeySet(issuer, { log: { key: 'keys.example.com/log/1f0c29ab+3c1f5a07+AQ…' } })
 */
export type LogOptions = {
  key: string
  witnesses?: readonly string[]
  /** How many of the witnesses must have cosigned. Default: all. */
  quorum?: number
}

/**
 * The state of a key set, for health checks.
 *
 * @example
 * const healthy = !['stale', 'closed'].includes(keys.state().status)
 */
export type KeySetState = {
  /**
   * - `empty`: not loaded yet.
   * - `live`: changes arrive immediately.
   * - `polling`: a proxy, a cache or `background: false` prevents that, so the key set is fetched every
   *   few seconds.
   * - `interrupted`: no contact at the moment; the keys are still trusted.
   * - `stale`: no contact for longer than `maxStale`; no key is trusted.
   * - `idle`: not used for `idleAfter`; loaded again with the next use.
   * - `closed`: closed permanently.
   */
  status: 'empty' | 'live' | 'polling' | 'interrupted' | 'stale' | 'idle' | 'closed'
  /** The active keys as last received; with the option `log`, those that it has proven. */
  kids: string[]
  /** With the option `log`: the other keys that were received, which do not count yet. */
  unprovenKids?: string[]
  /** The latest time at which the keys are known to have been current. */
  contactTime?: Date
  /** The latest revision that the log has proven; with the option `log`. */
  provenRevision?: number
  /** Why there is no contact. */
  error?: KeySetError
}

/** The members of a token's header that select the key (RFC 7515 section 4.1). */
export type TokenHeader = { alg?: string | undefined; kid?: string | undefined }

/**
 * The key argument of jose's `jwtVerify`, with methods to load, inspect and close the key set.
 *
 * @example
 * await keys.ready()
 * process.once('SIGTERM', keys.close)
 */
export type ProjectKeySet = {
  /** The key that the header names. Throws `KeySetError` if there is no trusted one. */
  (protectedHeader: TokenHeader, token?: unknown): Promise<VerifyKey>
  /** Loads and follows the key set before its first use. Throws if it cannot be loaded. */
  ready(): Promise<void>
  state(): KeySetState
  /** Ends all requests and timers, permanently. */
  close(): void
}
