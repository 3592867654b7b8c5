import { fromBase64url, utf8 } from '../log/encoding.ts'
import { sleep } from '../transport/deadline.ts'
import type { KeyEntry } from './contents.ts'
import { KeySetError } from './errors.ts'
import { isSignature } from './import.ts'
import type { ReportOptions } from './options.ts'

const minIntervalMs = 60_000
const defaultIntervalMs = 3_600_000

/** Within it a token that ends no later than a verified one, plus as much, counts without a check. */
const checkEveryMs = 60_000

/** Checks of one key at once: forged tokens, each of which needs one, must not double the work. */
const maxChecks = 16

/** Uses in one report. */
const maxUses = 500

/** In seconds, the start of the year 10000. */
const endOfTimes = 253_402_300_800

type Use = {
  timeMs: number
  /** Seconds: that of the last token whose signature was checked, and the latest of all. */
  checkedExp: number
  exp: number
}

type Token = { protected: string; payload: string; signature: string }

/**
 * Notes which keys sign tokens, and reports it. Throws `invalid_option`. Long because its functions share
 * the uses.
 */
export function createUseReporter(keySetUrl: string, options: ReportOptions) {
  const { as: reporter, client, every = defaultIntervalMs, onError } = options
  if (!(every >= minIntervalMs)) throw invalid(`report.every must be at least ${minIntervalMs} ms.`)
  const [, project] = /\/projects\/([^/]+)\/\.well-known\//.exec(keySetUrl) ?? []
  if (project === undefined) throw invalid('With report, the address must be that of a project.')
  const uses = new Map<string, Use>()
  const lifetime = new AbortController()
  const running = new Map<string, number>()
  let isStarted = false
  let checks: Promise<unknown> = Promise.resolve()

  /** Resolves with the milliseconds until the next report. */
  async function send(): Promise<number> {
    const newest = [...uses].sort(([, one], [, other]) => other.timeMs - one.timeMs)
    const body = {
      reporter,
      interval: Math.ceil(every / 1_000),
      uses: newest.slice(0, maxUses).map(([kid, { timeMs, exp }]) => ({
        kid,
        lastTime: new Date(timeMs).toISOString(),
        ...(exp > 0 && { lastExp: new Date(exp * 1_000).toISOString() }),
      })),
    }
    try {
      await client.keyUses.report(project ?? '', body, { retries: 0 })
      return every
    } catch (error) {
      // Another process reports under the same name.
      const { code, retryAfter = 0 } = Object(error)
      if (code === 'rate_limited') return retryAfter * 1_000 + Math.random() * minIntervalMs
      onError?.(error)
      return Math.min(every, 5 * minIntervalMs)
    }
  }
  async function run(): Promise<void> {
    // Processes that start together do not report together.
    let waitMs = Math.random() * minIntervalMs
    while (!lifetime.signal.aborted) {
      await sleep(waitMs, lifetime.signal, true)
      waitMs = await send()
    }
  }
  async function check(kid: string, entry: KeyEntry, token: Token, exp: number): Promise<void> {
    const others = running.get(kid) ?? 0
    if (others >= maxChecks) return
    running.set(kid, others + 1)
    const isValid = await hasValidSignature(entry, token).catch(() => false)
    running.set(kid, (running.get(kid) ?? 1) - 1)
    if (!isValid) return
    const known = uses.get(kid)
    const latest = Math.max(exp, known?.exp ?? 0)
    const checkedExp = Math.max(exp, known?.checkedExp ?? 0)
    uses.set(kid, { timeMs: Date.now(), checkedExp, exp: latest })
  }
  return {
    /** Counts the token if its signature is valid. Does not throw. */
    see(kid: string, entry: KeyEntry, token: unknown): void {
      if (!isToken(token)) return
      const exp = expOf(token)
      if (exp !== 0 && exp * 1_000 <= Date.now()) return
      const known = uses.get(kid)
      const isRecent = known !== undefined && Date.now() - known.timeMs < checkEveryMs
      if (isRecent && exp <= known.checkedExp + checkEveryMs / 1_000) {
        known.exp = Math.max(known.exp, exp)
      } else checks = Promise.allSettled([checks, check(kid, entry, token, exp)])
    },
    /** Begins to report, also if no token arrives. */
    start(): void {
      if (isStarted) return
      isStarted = true
      void run().catch(() => {})
    },
    /** Sends the last report. */
    close(): void {
      if (isStarted && !lifetime.signal.aborted) void checks.then(send)
      lifetime.abort()
    },
  }
}

/** A token as jose passes it to the function that returns its key. */
function isToken(token: unknown): token is Token {
  const { protected: header, payload, signature } = Object(token)
  return [header, payload, signature].every((part) => typeof part === 'string')
}

/** Its `exp` in seconds; 0 without one. */
function expOf({ payload }: Token): number {
  try {
    const { exp } = JSON.parse(new TextDecoder().decode(fromBase64url(payload)))
    return typeof exp === 'number' && exp > 0 && exp < endOfTimes ? exp : 0
  } catch {
    return 0
  }
}

/** Checked here too, because a forged token must not make a key look used. */
async function hasValidSignature(entry: KeyEntry, token: Token): Promise<boolean> {
  const signature = fromBase64url(token.signature)
  const signed = utf8(`${token.protected}.${token.payload}`)
  return signature !== undefined && isSignature(await entry.key(), entry.alg, signature, signed)
}

function invalid(message: string): KeySetError {
  return new KeySetError('invalid_option', message)
}
