import type { WorkloadRule } from '../../../packages/server/src/features/access-rules/stored.ts'
import type { ApiKeyRecord } from '../../../packages/server/src/features/api-keys/stored.ts'
import {
  apiKeyDigest,
  newApiKeySecret,
  secretPrefix,
} from '../../../packages/server/src/kernel/access/secrets.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { origin } from './store.ts'

/** An access rule for workloads and all projects, with these differences. */
export function accessRuleRecord(members: Partial<WorkloadRule> = {}): WorkloadRule {
  const { time } = origin()
  return {
    id: newId(),
    for: 'workloads',
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

/** An API key of an hour that was exchanged under the rule. */
export function exchangedKeyRecord(rule: WorkloadRule): ApiKeyRecord {
  const secret = newApiKeySecret()
  const { id: ruleId, name, role, projectId, issuer } = rule
  return {
    id: newId(),
    digest: apiKeyDigest(secret),
    prefix: secretPrefix(secret),
    name,
    role,
    ...(projectId === undefined ? {} : { projectId }),
    enabled: true,
    exchanged: { ruleId, issuer, subject: 'orders' },
    createTime: rule.createTime,
    expireTime: new Date(Date.now() + 3_600_000).toISOString(),
  }
}
