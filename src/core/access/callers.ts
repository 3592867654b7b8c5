import { PubringError } from '../../errors.ts'
import type { Store } from '../context.ts'
import { isActive } from '../expiry.ts'
import type { ApiKeyRecord } from '../records.ts'
import type { Credential, Grant } from './grants.ts'

/** The holder of a credential, as the store had it at one time. */
export interface Caller {
  grants: readonly Grant[]
  /** ISO 8601; absent if the credential has no end. */
  expireTime?: string
  /** Set if the credential is an API key. */
  apiKey?: ApiKeyRecord
}

/** Reads the holder of a credential; throws `invalid_api_key` unless it is active at that time (ISO 8601). */
export async function readCaller(
  store: Pick<Store, 'findApiKey'>,
  { id }: Credential,
  time: string,
): Promise<Caller> {
  return callerOf(await store.findApiKey(id), time)
}

/** The holder of an API key; throws `invalid_api_key` unless it exists and is active at that time. */
export function callerOf(apiKey: ApiKeyRecord | undefined, time: string): Caller {
  if (apiKey === undefined || !isActive(apiKey, time)) throw invalidApiKey()
  const { expireTime } = apiKey
  return {
    grants: [grantOf(apiKey)],
    ...(expireTime === undefined ? {} : { expireTime }),
    apiKey,
  }
}

export function grantOf({ role, projectId }: ApiKeyRecord): Grant {
  return { role, ...(projectId === undefined ? {} : { projectId }) }
}

export function invalidApiKey(): PubringError {
  return new PubringError(
    'invalid_api_key',
    'The API key in the X-Api-Key header is unknown, expired or revoked. Check that it was copied completely.',
  )
}
