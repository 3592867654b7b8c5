import { LRUCache } from 'lru-cache'
import { PubringError } from '../../errors.ts'
import { isApiKeyActive, type Principal } from '../access.ts'
import type { Context } from '../context.ts'
import { systemLedgerId } from '../ledger/chain.ts'
import type { ApiKeyRecord } from '../records.ts'
import { isoTime } from '../times.ts'
import { createLastUses } from './last-uses.ts'
import { apiKeyDigest, parseApiKeySecret } from './secrets.ts'

/** API keys that are remembered; unknown secrets are not, so nobody can fill the memory with them. */
const maxCachedApiKeys = 10_000

interface CachedApiKey {
  record: ApiKeyRecord
  /** Hash of the system ledger's last event when the record was so. */
  head: string
}

export interface Authenticator {
  /**
   * The caller behind the `X-Api-Key` header. Throws `missing_api_key` or `invalid_api_key`; the
   * second says nothing about why, so that nobody learns which secrets once were good.
   */
  authenticate(header: string | undefined): Promise<Principal>
  /** The API key was used now. */
  recordUse(apiKeyId: string): void
  /** Writes down what is noted of last uses. */
  flush(): Promise<void>
  /** The same, for the last time. */
  close(): Promise<void>
}

/**
 * Every change to an API key is an event of the system ledger, so a remembered API key holds as long
 * as that has not gone on: a revocation, demotion or expiry counts from the next request on, on
 * every replica. The ledger is looked at before the record is read, which is therefore never older.
 */
export function createAuthenticator({ store, clock }: Context): Authenticator {
  const cache = new LRUCache<string, CachedApiKey>({ max: maxCachedApiKeys })
  const lastUses = createLastUses(store)

  async function find(digest: string): Promise<CachedApiKey | undefined> {
    const head = (await store.heads([systemLedgerId])).get(systemLedgerId)?.hash
    const known = cache.get(digest)
    if (known !== undefined && known.head === head) return known
    const record = await store.findApiKeyByDigest(digest)
    if (record === undefined || head === undefined) {
      cache.delete(digest)
      return undefined
    }
    const found = { record, head }
    cache.set(digest, found)
    return found
  }

  return {
    async authenticate(header) {
      if (header === undefined || /^[ \t]*$/.test(header)) throw missingApiKey()
      const secret = parseApiKeySecret(header)
      const found = secret === undefined ? undefined : await find(apiKeyDigest(secret))
      const time = clock.now()
      if (found === undefined || !isApiKeyActive(found.record, isoTime(time))) throw invalidApiKey()
      const { id, name, role, projectId, expireTime } = found.record
      lastUses.record(id, time)
      return {
        apiKeyId: id,
        name,
        role,
        ...(projectId === undefined ? {} : { projectId }),
        ...(expireTime === undefined ? {} : { expireTime }),
        head: found.head,
      }
    },
    recordUse: (apiKeyId) => lastUses.record(apiKeyId, clock.now()),
    flush: lastUses.flush,
    close: lastUses.close,
  }
}

function missingApiKey(): PubringError {
  return new PubringError(
    'missing_api_key',
    'Send an API key in the X-Api-Key header (not in the query, not in Authorization).',
  )
}

function invalidApiKey(): PubringError {
  return new PubringError(
    'invalid_api_key',
    'The API key in the X-Api-Key header is not known, expired or revoked. Check that it was copied whole.',
  )
}
