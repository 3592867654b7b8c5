import { newId } from '../../../src/core/ids.ts'
import type { TrustPolicyRecord } from '../../../src/core/records.ts'
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
