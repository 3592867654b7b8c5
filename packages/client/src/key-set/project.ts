import { isRequestBound } from '../transport/request-bound.ts'
import { keySetUrl } from './address.ts'
import { createKeySetCache, type KeySetCache } from './cache.ts'
import type { KeyEntry } from './contents.ts'
import { KeySetError } from './errors.ts'
import type { VerifyKey } from './import.ts'
import { createLoader, type Loader } from './loader.ts'
import type { KeySetOptions, ProjectKeySet, TokenHeader } from './options.ts'
import { createProvenKeySet, type ProvenKeySet } from './proven.ts'
import { createUseReporter } from './report.ts'
import { elapsedMs, now, type Timestamp } from './timestamp.ts'
import { closedError, createUpdater, type Updater } from './updater.ts'

/** Minimum `maxStale`: a long poll takes a third of it, in whole seconds. */
const minMaxStaleMs = 3_000

/**
 * The live key set of a project: a function that returns the key for a token's header, for the key
 * argument of jose's `jwtVerify`. `address` is the project's issuer or its JWKS URL; no API key is
 * needed. Sends nothing before its first use; from then on it follows the key set on one connection
 * until it has not been used for `idleAfter` or is closed. Keeps no Node process alive. Throws
 * `invalid_address` or `invalid_option`.
 *
 * @example
 * import { jwtVerify } from 'jose'
 * const keys = projectKeySet(issuer)
 * const { payload } = await jwtVerify(token, keys, { issuer, audience: 'orders' })
 */
export function projectKeySet(address: string | URL, options: KeySetOptions = {}): ProjectKeySet {
  const url = keySetUrl(address)
  const { coolDown = 5_000, timeout = 5_000, idleAfter = 300_000, onChange, log } = options
  const { maxStale = 30_000, background = !isRequestBound() } = options
  if (!(maxStale >= minMaxStaleMs)) throw invalidMaxStale()
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init))
  const cache = createKeySetCache(url, maxStale)
  const proven = log && createProvenKeySet({ url, fetch, timeout, log })
  const updater = createUpdater(
    { url, maxStale, timeout, fetch, background, proven, ...(onChange && { onChange }) },
    cache,
  )
  if (options.report && !background) throw reportNeedsBackground()
  const reporter = options.report && createUseReporter(url, options.report)
  const loader = createLoader(updater.load, { coolDown, shared: background })
  let lastUse: Timestamp = now()
  const isWanted = () => elapsedMs(lastUse) <= idleAfter
  const isCurrent = () => cache.isFresh() && (background ? updater.isFollowing() : !loader.isDue())

  async function ready(): Promise<void> {
    lastUse = now()
    if (updater.isClosed()) throw closedError()
    if (!isCurrent()) await loadFresh(updater, cache, loader)
    updater.follow(isWanted)
    reporter?.start()
  }
  async function getKey({ kid, alg }: TokenHeader, token?: unknown): Promise<VerifyKey> {
    if (typeof kid !== 'string' || kid === '') throw kidMissing()
    await ready()
    const entry = findEntry(kid, cache, proven) ?? (await reloadForKid(kid, cache, proven, loader))
    if (entry.alg !== alg) throw algorithmMismatch(entry)
    reporter?.see(kid, entry, token)
    return entry.key()
  }
  function close(): void {
    reporter?.close()
    updater.close()
  }
  return Object.assign(getKey, { ready, state: updater.state, close })
}

/** Loads the key set. Throws if it cannot be trusted. */
async function loadFresh(updater: Updater, cache: KeySetCache, loader: Loader): Promise<void> {
  try {
    await loader.load()
  } catch (cause) {
    if (cache.contents() === undefined || updater.isClosed()) throw cause
    if (!cache.isFresh()) throw isRefusal(cause) ? cause : stale(cache, cause)
  }
  // The response itself may be too old: a cache can serve a copy long after it has expired.
  if (!cache.isFresh()) throw stale(cache)
}

/** Whether the key set was received, and the log speaks against it. */
function isRefusal(cause: unknown): boolean {
  const codes: readonly unknown[] = ['key_set_disproved', 'key_set_unproven']
  return cause instanceof KeySetError && codes.includes(cause.code)
}

/** The key, if it counts. */
function findEntry(
  kid: string,
  cache: KeySetCache,
  proven: ProvenKeySet | undefined,
): KeyEntry | undefined {
  const entry = cache.contents()?.entries.get(kid)
  return entry === undefined || proven?.counts(entry) === false ? undefined : entry
}

/** Loads again, unless that was just done: the key may be new, or newly proven. */
async function reloadForKid(
  kid: string,
  cache: KeySetCache,
  proven: ProvenKeySet | undefined,
  loader: Loader,
): Promise<KeyEntry> {
  let cause: unknown
  if (!loader.isCoolingDown()) {
    await loader.load().catch((error) => {
      cause = error
    })
  }
  const entry = findEntry(kid, cache, proven)
  if (entry !== undefined) return entry
  const { entries, head } = cache.contents() ?? {}
  const isNewer = (head?.revision ?? 0) > (proven?.latest() ?? 0)
  if (entries?.has(kid) && isNewer) throw unprovenKey(cause)
  throw new KeySetError(
    'kid_unknown',
    'The key set does not have the key that the token names: it was never registered in this project, or it is not active.',
    { cause },
  )
}

function unprovenKey(cause: unknown): KeySetError {
  return new KeySetError(
    'key_set_unproven',
    'The log has not proven the key that the token names, so it does not count. A new key counts about a minute after its registration: sign with it a minute after its convergedTime.',
    { cause },
  )
}

function invalidMaxStale(): KeySetError {
  const message = `maxStale must be at least ${minMaxStaleMs} ms: no connection can guarantee less.`
  return new KeySetError('invalid_option', message)
}

function reportNeedsBackground(): KeySetError {
  return new KeySetError('invalid_option', 'report needs a key set with background: true.')
}

function stale(cache: KeySetCache, cause?: unknown): KeySetError {
  const confirmedAt = cache.confirmedAt()
  const since =
    confirmedAt === undefined ? '' : ` since ${new Date(confirmedAt.epochMs).toISOString()}`
  const message = `The key set has not been reachable${since}. Its keys may have been deactivated meanwhile, so no token is accepted.`
  return new KeySetError('key_set_stale', message, { cause })
}

function kidMissing(): KeySetError {
  const message =
    'The token does not name a key: its header must contain the kid that Pubring assigned to the key.'
  return new KeySetError('kid_missing', message)
}

/** Does not repeat the token's `alg`, which an attacker may have chosen. */
function algorithmMismatch({ alg }: KeyEntry): KeySetError {
  const message = `The key that the token names verifies only ${alg}, and the token has another alg.`
  return new KeySetError('algorithm_mismatch', message)
}
