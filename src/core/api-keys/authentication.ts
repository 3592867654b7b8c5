import { LRUCache } from 'lru-cache'
import { PubringError } from '../../errors.ts'
import { grantOf, invalidApiKey } from '../access/callers.ts'
import type { Credential } from '../access/grants.ts'
import type { Principal } from '../access/principal.ts'
import type { Context } from '../context.ts'
import { isActive } from '../expiry.ts'
import { systemLedgerId } from '../ledger/chain.ts'
import type { ApiKeyRecord } from '../records.ts'
import { isoTime } from '../times.ts'
import { headsMatch, isValid, spanUntilExpiry } from '../validity.ts'
import { createLastUses } from './last-uses.ts'
import { apiKeyDigest, parseApiKeySecret } from './secrets.ts'

/** Cached callers. Unknown secrets are not cached, so that they cannot fill the memory. */
const maxCallers = 10_000

export interface Authenticator {
  /**
   * The caller with the API key in the `X-Api-Key` header. Throws `missing_api_key` or
   * `invalid_api_key`, which does not say whether the secret was ever valid.
   */
  authenticate(header: string | undefined): Promise<Principal>
  /** Records that the credential was used now. */
  recordUse(credential: Credential): void
  /** Writes the recorded last uses to the store. */
  flush(): Promise<void>
  /** Writes them a last time and stops the periodic writes. */
  close(): Promise<void>
}

/**
 * Every change to an API key is an event of the system ledger, so a cached caller is valid while
 * that ledger's head is the same: revocation, demotion and expiry take effect with the next
 * request, on every replica. The head is read before the record, so the record is at least as new.
 */
export function createAuthenticator({ store, clock }: Context): Authenticator {
  const callers = new LRUCache<string, Principal>({ max: maxCallers })
  const lastUses = createLastUses(store)

  async function find(digest: string): Promise<Principal | undefined> {
    const current = await store.heads([systemLedgerId])
    const known = callers.get(digest)
    if (known !== undefined) {
      if (await isValid(known.validity, clock, (seen) => headsMatch(seen, current))) return known
      callers.delete(digest)
    }
    const record = await store.findApiKeyByDigest(digest)
    const hash = current.get(systemLedgerId)?.hash
    const time = clock.now()
    if (record === undefined || hash === undefined) return undefined
    if (!isActive(record, isoTime(time))) return undefined
    const caller = toPrincipal(record, hash, time)
    callers.set(digest, caller)
    return caller
  }

  return {
    async authenticate(header) {
      if (header === undefined || /^[ \t]*$/.test(header)) throw missingApiKey()
      const secret = parseApiKeySecret(header)
      const caller = secret === undefined ? undefined : await find(apiKeyDigest(secret))
      if (caller === undefined) throw invalidApiKey()
      lastUses.record(caller.credential.id, clock.now())
      return caller
    },
    recordUse: ({ id }) => lastUses.record(id, clock.now()),
    flush: lastUses.flush,
    close: lastUses.close,
  }
}

function toPrincipal(record: ApiKeyRecord, head: string, time: number): Principal {
  const { id, name } = record
  const heads = [{ ledgerId: systemLedgerId, hash: head }]
  return {
    credential: { type: 'api_key', id },
    callerId: id,
    actor: { apiKeyId: id, name },
    grants: [grantOf(record)],
    validity: { heads, ...spanUntilExpiry([record], time) },
  }
}

function missingApiKey(): PubringError {
  return new PubringError(
    'missing_api_key',
    'Send an API key in the X-Api-Key header, not in the query or in Authorization.',
  )
}
