import { apiKeyDigest, newApiKeySecret, secretPrefix } from '../../../src/core/api-keys/secrets.ts'
import { newId } from '../../../src/core/ids.ts'
import type { ExchangedKeyRecord, TrustPolicyRecord } from '../../../src/core/records.ts'
import { origin } from './store.ts'

/** A trust policy for all projects, with these differences. */
export function trustPolicyRecord(members: Partial<TrustPolicyRecord> = {}): TrustPolicyRecord {
  const { time } = origin()
  return {
    id: newId(),
    name: 'orders, deploy',
    issuer: 'https://issuer.test',
    keySource: 'discovery',
    audience: 'https://keys.example.com',
    conditions: { sub: 'orders' },
    role: 'writer',
    singleUse: false,
    maxLifetime: 900,
    enabled: true,
    createTime: time,
    updateTime: time,
    ...members,
  }
}

/** An API key of an hour that was exchanged under the policy. */
export function exchangedKeyRecord(policy: TrustPolicyRecord): ExchangedKeyRecord {
  const secret = newApiKeySecret()
  const { id: policyId, name, role, projectId, issuer } = policy
  return {
    id: newId(),
    digest: apiKeyDigest(secret),
    prefix: secretPrefix(secret),
    policyId,
    name,
    role,
    ...(projectId === undefined ? {} : { projectId }),
    issuer,
    subject: 'orders',
    createTime: policy.createTime,
    expireTime: new Date(Date.now() + 3_600_000).toISOString(),
  }
}
