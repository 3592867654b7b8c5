import { LRUCache } from 'lru-cache'
import { PubringError } from '../../errors.ts'
import { present } from '../../runtime/present.ts'
import type { Context } from '../context.ts'
import { systemLedgerId } from '../ledger/chain.ts'
import { now } from '../values/times.ts'
import { headsMatch, isValid, spanUntilExpiry } from '../values/validity.ts'
import {
  type Caller,
  invalidApiKey,
  invalidSession,
  type ReadCaller,
  workloadOf,
} from './callers.ts'
import type { Credential } from './grants.ts'
import { createLastUses } from './last-uses.ts'
import type { Principal } from './principal.ts'
import { apiKeyDigest, parseApiKeySecret } from './secrets.ts'

/** Cached callers. Unknown secrets are not cached, so that they cannot fill the memory. */
const maxCallers = 10_000

/** The value of `X-Api-Key` of requests whose credential is the session in their cookie. */
const sessionMarker = 'session'

/** Whether the header says that the credential is in the cookie. */
export function namesSession(header: string | undefined): boolean {
  return header?.trim() === sessionMarker
}

interface AuthenticatorContext extends Pick<Context, 'store' | 'clock'> {
  readCaller: ReadCaller
}

export type Authenticator = ReturnType<typeof createAuthenticator>

/**
 * Every change to an API key or a session is an event of the system ledger. So is a change to an
 * access rule, which deletes the API keys exchanged under it. A cached caller is therefore valid while
 * that ledger's head is the same, and that of the project whose key vouched for the caller.
 * Revocation, demotion and expiry take effect with the next request, on every replica. The head is
 * read before the record, so the record is at least as new.
 */
export function createAuthenticator({ store, clock, readCaller }: AuthenticatorContext) {
  const callers = new LRUCache<string, Principal>({ max: maxCallers })
  const lastUses = createLastUses(store)

  async function find(type: Credential['type'], secret: string): Promise<Principal> {
    const digest = apiKeyDigest(secret)
    const key = `${type} ${digest}`
    const known = callers.get(key)
    const ledgers = known?.validity.heads.map(({ ledgerId }) => ledgerId) ?? [systemLedgerId]
    const current = await store.heads(ledgers)
    if (known !== undefined) {
      if (await isValid(known.validity, clock, (seen) => headsMatch(seen, current))) return known
      callers.delete(key)
    }
    const look = { db: store.reader, time: now(clock), isLocked: false }
    const caller = await readCaller(look, { type, digest })
    const hash = current.get(systemLedgerId)?.hash
    if (hash === undefined) throw new Error('the system ledger is missing')
    const principal = toPrincipal(caller, hash, clock.now())
    callers.set(key, principal)
    return principal
  }

  /** An exchanged API key is valid for minutes, and its rule has the time of the last exchange. */
  function recordUse({ credential, actor }: Principal): void {
    if (actor.workload === undefined) lastUses.record(credential, clock.now())
  }

  return {
    /**
     * The caller with the API key in the `X-Api-Key` header or, if that is `session`, with the secret
     * of a session. Throws `missing_api_key`, `invalid_api_key` or `invalid_session`, which do not say
     * whether the secret was ever valid.
     */
    async authenticate(header: string | undefined, sessionSecret?: string): Promise<Principal> {
      if (header === undefined || /^[ \t]*$/.test(header)) throw missingApiKey()
      const type = namesSession(header) ? 'session' : 'api_key'
      const secret = parseApiKeySecret(type === 'session' ? (sessionSecret ?? '') : header)
      if (secret === undefined) throw type === 'session' ? invalidSession() : invalidApiKey()
      const caller = await find(type, secret)
      recordUse(caller)
      return caller
    },
    /** Records that the credential was used now. */
    recordUse,
    /** Writes the recorded last uses to the store. */
    flush: lastUses.flush,
    /** Writes them a last time and stops the periodic writes. */
    close: lastUses.close,
  }
}

function toPrincipal(caller: Caller, head: string, time: number): Principal {
  const { grants, voucher, session } = caller
  const heads = [{ ledgerId: systemLedgerId, hash: head }, voucher?.head ?? []].flat()
  const validity = { heads, ...spanUntilExpiry([caller], time) }
  const { signInTime } = session ?? {}
  return {
    ...identityOf(caller),
    grants,
    validity,
    ...(session && { session: present({ signInTime }) }),
    ...(voucher && { voucher }),
  }
}

/** A session identifies its holder, whether the request has its cookie or one of its API keys. */
export function identityOf({
  session,
  apiKey,
}: Caller): Pick<Principal, 'credential' | 'holder' | 'callerId' | 'actor'> {
  const { id = '', person } = session ?? {}
  const credential = { type: 'session', id } as const
  if (person !== undefined) {
    const { id: personId, issuer, subject } = person
    const user = { issuer, subject, sessionId: id }
    return {
      credential,
      holder: { issuer, subject },
      callerId: personId,
      actor: { name: '', user },
    }
  }
  if (apiKey === undefined) throw new Error('a caller without a holder')
  const { id: apiKeyId, name, exchanged } = apiKey
  return {
    credential: session === undefined ? { type: 'api_key', id: apiKeyId } : credential,
    holder: { apiKeyId },
    // Shared by all that are exchanged under a rule, so that exchanging more gains nothing.
    callerId: exchanged?.ruleId ?? apiKeyId,
    actor: exchanged === undefined ? { apiKeyId, name } : workloadOf(apiKey, exchanged),
  }
}

function missingApiKey(): PubringError {
  return new PubringError(
    'missing_api_key',
    'Send an API key in the X-Api-Key header, not in the query or in Authorization.',
  )
}
