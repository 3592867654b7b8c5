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
  invalidRegistration,
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

/** A credential in a cookie: that of a person or API key, or of one of the registration links of the browser. */
export type InCookie = { type: 'session' } | { type: 'registration'; linkId: string }

/** The credential that the header says is in its cookie; undefined if it has none. */
export function namedCookie(header: string | undefined): InCookie | undefined {
  const [name, linkId] =
    /^(?:session|registration:([\da-f-]{36}))$/.exec(header?.trim() ?? '') ?? []
  if (linkId !== undefined) return { type: 'registration', linkId }
  return name === undefined ? undefined : { type: 'session' }
}

interface AuthenticatorContext extends Pick<Context, 'store' | 'clock'> {
  readCaller: ReadCaller
}

export type Authenticator = ReturnType<typeof createAuthenticator>

/**
 * Every change to an API key or a session is an event of the system ledger. So is a change to an
 * access rule, which deletes the API keys exchanged under it. A cached caller is therefore valid while
 * that ledger's head is the same, and that of the project whose key vouched for the caller. The holder of a
 * registration link is read with each request: its end is an event of its project alone.
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
    if (caller.link === undefined) callers.set(key, principal)
    return principal
  }

  /**
   * An exchanged API key is valid for minutes, and its rule has the time of the last exchange. A registration
   * link is used once, of which there is an event.
   */
  function recordUse({ credential, actor }: Principal): void {
    const { type, id } = credential
    if (type === 'registration' || actor.workload !== undefined) return
    lastUses.record({ type, id }, clock.now())
  }

  return {
    /**
     * The caller with the API key in the `X-Api-Key` header or, if that names a credential in a cookie,
     * with the secret in this cookie. Throws `missing_api_key`, `invalid_api_key` or `invalid_session`,
     * which do not say whether the secret was ever valid.
     */
    async authenticate(header: string | undefined, inCookie?: string): Promise<Principal> {
      if (header === undefined || /^[ \t]*$/.test(header)) throw missingApiKey()
      const { type } = namedCookie(header) ?? { type: 'api_key' as const }
      const secret = parseApiKeySecret(type === 'api_key' ? header : (inCookie ?? ''))
      if (secret === undefined) throw invalidCredential[type]()
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
  const { grants, voucher, link, session } = caller
  const system = { ledgerId: systemLedgerId, hash: head }
  const heads = [system, voucher?.head ?? []].flat()
  const validity = { heads, ...spanUntilExpiry([caller], time) }
  const { signInTime } = session ?? {}
  return {
    ...identityOf(caller),
    grants,
    validity,
    ...(session && { session: present({ signInTime }) }),
    ...present({ voucher, link }),
  }
}

/** A session identifies its holder, whether the request has its cookie or one of its API keys. */
export function identityOf({
  session,
  apiKey,
  link,
}: Caller): Pick<Principal, 'credential' | 'holder' | 'callerId' | 'actor'> {
  if (link !== undefined) {
    const { id: linkId, createdBy } = link
    return {
      credential: { type: 'registration', id: linkId },
      holder: { linkId },
      callerId: linkId,
      actor: { name: '', link: { id: linkId, createdBy } },
    }
  }
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

const invalidCredential = {
  api_key: invalidApiKey,
  session: invalidSession,
  registration: invalidRegistration,
} as const satisfies Record<Credential['type'], () => PubringError>

function missingApiKey(): PubringError {
  return new PubringError(
    'missing_api_key',
    'Send an API key in the X-Api-Key header, not in the query or in Authorization.',
  )
}
