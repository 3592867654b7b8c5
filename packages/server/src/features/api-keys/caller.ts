import {
  type CredentialKind,
  findCredential,
  grantOf,
  invalidApiKey,
} from '../../kernel/access/callers.ts'
import { earliest, isActive } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { findByKid } from '../keys/kids.ts'
import { readKeySet } from '../keys/reads.ts'
import { mayVouch } from '../keys/states.ts'
import { findApiKeyByDigest } from './reads.ts'
import { apiKeys } from './stored.ts'

/**
 * The holder of an API key or, if it belongs to a session, that of the session. Throws `invalid_api_key`
 * unless the API key exists and is active at that time, and also if it is for the successor of a key
 * that no longer vouches; throws `invalid_session` if its session has ended.
 */
export const apiKeyCredential: CredentialKind = {
  type: 'api_key',
  async caller(look, by, readCaller) {
    const { db, time } = look
    const apiKey = await findCredential(look, by, apiKeys, findApiKeyByDigest)
    if (apiKey === undefined || !isActive(apiKey, time)) throw invalidApiKey()
    const { expireTime, sessionId, exchanged, projectId } = apiKey
    if (sessionId !== undefined) {
      const caller = await readCaller(look, { type: 'session', id: sessionId })
      return { ...caller, ...present({ expireTime: earliest(expireTime, caller.expireTime) }) }
    }
    const caller = { grants: [grantOf(apiKey)], ...present({ expireTime }), apiKey }
    if (exchanged?.successor === undefined) return caller
    const { ruleId, subject, successor } = exchanged
    const ledgerId = projectId ?? ''
    const keySet = await readKeySet(db, ledgerId)
    const key = findByKid(keySet?.keys ?? [], subject)
    if (keySet === undefined || key === undefined || !mayVouch(key, time)) throw invalidApiKey()
    return {
      ...caller,
      ...present({ expireTime: earliest(expireTime, key.expireTime) }),
      voucher: { keyId: key.id, ruleId, successor, head: { ledgerId, hash: keySet.head } },
    }
  },
}
