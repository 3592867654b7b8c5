import { keySetAddress } from './address.ts'
import { createHolding, type Holding } from './cache.ts'
import type { Entry } from './contents.ts'
import { KeySetError } from './errors.ts'
import type { VerifyKey } from './import.ts'
import { createLoader, type Loader } from './loader.ts'
import type { KeySetOptions, ProjectKeySet, TokenHeader } from './options.ts'
import { type Moment, now, since } from './timestamp.ts'
import { createUpkeep, type Upkeep } from './updater.ts'

/** The least `maxStale`, in milliseconds: a question waits a third of it, in whole seconds. */
const leastMaxStale = 3_000

/**
 * The live key set of a project: a function that gives the key for a token's header, as the key
 * argument of jose's `jwtVerify`. `address` is the issuer of the project or the address of its JWKS;
 * no API key is needed. Nothing is asked for before the first use; from then on the key set is
 * followed on one connection until it is not used for `idleAfter`, or closed. In Node it keeps no
 * process alive. Throws `invalid_address` for an address that is neither, and `invalid_option`.
 *
 * @example
 * import { jwtVerify } from 'jose'
 * const keys = projectKeySet(issuer)
 * const { payload } = await jwtVerify(token, keys, { issuer, audience: 'orders' })
 */
export function projectKeySet(address: string | URL, options: KeySetOptions = {}): ProjectKeySet {
  const url = keySetAddress(address)
  const { coolDown = 5_000, timeout = 5_000, idleAfter = 300_000, onChange } = options
  const { maxStale = 30_000 } = options
  if (!(maxStale >= leastMaxStale)) throw invalidMaxStale()
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init))
  const holding = createHolding(url, maxStale)
  const settings = { url, maxStale, timeout, fetch, ...(onChange && { onChange }) }
  const upkeep = createUpkeep(settings, holding)
  const loader = createLoader(upkeep.ask, coolDown)
  let lastUse: Moment = now()
  const wanted = () => since(lastUse) <= idleAfter

  async function use(): Promise<void> {
    lastUse = now()
    await bringUpToDate(upkeep, holding, loader)
    upkeep.follow(wanted)
  }
  async function key(header: TokenHeader): Promise<VerifyKey> {
    const { kid, alg } = header
    if (typeof kid !== 'string' || kid === '') throw kidMissing()
    await use()
    const entry = holding.contents()?.entries.get(kid) ?? (await lookAgain(kid, holding, loader))
    if (entry.alg !== alg) throw algorithmMismatch(entry)
    return entry.key()
  }
  return Object.assign(key, { ready: use, state: upkeep.state, close: upkeep.close })
}

/** Loads the key set unless it is followed and trusted. Throws where it is not to be trusted. */
async function bringUpToDate(upkeep: Upkeep, holding: Holding, loader: Loader): Promise<void> {
  if (upkeep.closed()) throw new KeySetError('key_set_unavailable', 'The key set is closed.')
  if (upkeep.following() && holding.trusted()) return
  try {
    await loader.load()
  } catch (cause) {
    if (holding.contents() === undefined || upkeep.closed()) throw cause
    if (!holding.trusted()) throw stale(holding, cause)
  }
  // What was answered may itself be too old: a cache can serve it long after its time.
  if (!holding.trusted()) throw stale(holding)
}

/** The key may have been registered a moment ago: loads once more, unless that was just done. */
async function lookAgain(kid: string, holding: Holding, loader: Loader): Promise<Entry> {
  let cause: unknown
  if (!loader.coolingDown()) {
    await loader.load().catch((error) => {
      cause = error
    })
  }
  const entry = holding.contents()?.entries.get(kid)
  if (entry !== undefined) return entry
  throw new KeySetError(
    'kid_unknown',
    'The token names a key that is not in the key set: it was never registered there, or it is not active.',
    { cause },
  )
}

function invalidMaxStale(): KeySetError {
  const message = `maxStale must be ${leastMaxStale} ms or more: less than that no connection can promise.`
  return new KeySetError('invalid_option', message)
}

function stale(holding: Holding, cause?: unknown): KeySetError {
  const contact = holding.contact()
  const since = contact === undefined ? '' : ` since ${new Date(contact.wall).toISOString()}`
  const message = `No contact to the key set${since}: whether its keys are still active is not known, so no token is trusted.`
  return new KeySetError('key_set_stale', message, { cause })
}

function kidMissing(): KeySetError {
  const message = 'The token names no key: its header must have the kid that Pubring gave the key.'
  return new KeySetError('kid_missing', message)
}

/** What the token says is not repeated: anybody can have written it. */
function algorithmMismatch({ alg }: Entry): KeySetError {
  const message = `The key that the token names verifies ${alg} alone, and the token says another algorithm.`
  return new KeySetError('algorithm_mismatch', message)
}
