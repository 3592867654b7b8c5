import type { LinkRecord } from '../../../packages/server/src/features/registration-links/stored.ts'
import { apiKeyDigest } from '../../../packages/server/src/kernel/access/secrets.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { origin } from './store.ts'

/** A registration link that nobody has opened. */
export function linkRecord(projectId: string, members: Partial<LinkRecord> = {}): LinkRecord {
  const id = newId()
  return {
    projectId,
    id,
    note: 'ACME',
    digest: apiKeyDigest(id),
    newKeys: 'inactive',
    createdBy: { apiKeyId: newId() },
    createTime: origin().time,
    expireTime: '2099-01-02T03:04:05.678Z',
    ...members,
  }
}
