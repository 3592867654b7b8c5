import { LRUCache } from 'lru-cache'
import { PubringError } from '../errors.ts'
import { isUsable, type Principal } from './access.ts'
import type { Context } from './context.ts'
import { createLastUses } from './last-uses.ts'
import { systemLedgerId } from './ledger.ts'
import type { ApiKeyRecord } from './records.ts'
import type { RevisionLookup } from './revision-lookup.ts'
import { apiKeyDigest, readApiKeySecret } from './secrets.ts'
import { now } from './times.ts'

/** API keys that are remembered; unknown secrets are not, so nobody can fill the memory with them. */
const maxRemembered = 10_000

/**
 * Milliseconds after which one is read again all the same: a fail-over that loses changes gives their
 * revisions to others.
 */
const maxAge = 30_000

interface Remembered {
  record: ApiKeyRecord
  /** The system ledger's revision at which the record was so. */
  revision: number
}

export interface Authenticator {
  /**
   * The caller behind the `X-Api-Key` header. Throws `missing_api_key` or `invalid_api_key`; the
   * second says nothing about why, so that nobody learns which secrets once were good.
   */
  authenticate(header: string | undefined): Promise<Principal>
  /** Writes down what is noted of last uses. */
  flush(): Promise<void>
  /** The same, for the last time. */
  close(): Promise<void>
}

/**
 * Every change to an API key raises the system ledger's revision, so a remembered API key holds as
 * long as that has not moved: a revocation, demotion or expiry counts from the next request on, on
 * every replica. The revision is read before the record, which is therefore never older than it.
 */
export function createAuthenticator(context: Context, revisions: RevisionLookup): Authenticator {
  const { store, clock } = context
  const remembered = new LRUCache<string, Remembered>({ max: maxRemembered, ttl: maxAge })
  const lastUses = createLastUses(store)

  async function find(digest: string): Promise<ApiKeyRecord | undefined> {
    const revision = await revisions.current(systemLedgerId)
    const known = remembered.get(digest)
    if (known !== undefined && known.revision === revision) return known.record
    const record = await store.findApiKeyByDigest(digest)
    if (record === undefined || revision === undefined) remembered.delete(digest)
    else remembered.set(digest, { record, revision })
    return record
  }

  return {
    async authenticate(header) {
      if (header === undefined || /^[ \t]*$/.test(header)) throw missingApiKey()
      const secret = readApiKeySecret(header)
      const record = secret === undefined ? undefined : await find(apiKeyDigest(secret))
      const time = now(clock)
      if (record === undefined || !isUsable(record, time)) throw invalidApiKey()
      const { id, name, role, projectId } = record
      lastUses.note(id, time)
      return { apiKeyId: id, name, role, ...(projectId === undefined ? {} : { projectId }) }
    },
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
