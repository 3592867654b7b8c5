import { accessRuleChanges } from '../../../packages/server/src/features/access-rules/changes.ts'
import { apiKeyChanges } from '../../../packages/server/src/features/api-keys/changes.ts'
import { apiKeyRecord } from '../../../packages/server/src/features/api-keys/operations.ts'
import type { ApiKeyRecord } from '../../../packages/server/src/features/api-keys/stored.ts'
import { auditChanges } from '../../../packages/server/src/features/audit/changes.ts'
import { keyUseChanges } from '../../../packages/server/src/features/key-uses/changes.ts'
import { keyChanges } from '../../../packages/server/src/features/keys/changes.ts'
import type { KeyRecord } from '../../../packages/server/src/features/keys/stored.ts'
import { signCheckpoint } from '../../../packages/server/src/features/log/signing.ts'
import { projectChanges } from '../../../packages/server/src/features/projects/changes.ts'
import { linkChanges } from '../../../packages/server/src/features/registration-links/changes.ts'
import { rotationChanges } from '../../../packages/server/src/features/rotations/changes.ts'
import { exchangeChanges } from '../../../packages/server/src/features/token-exchange/changes.ts'
import {
  apiKeyDigest,
  newApiKeySecret,
} from '../../../packages/server/src/kernel/access/secrets.ts'
import type { LogSigner, Store } from '../../../packages/server/src/kernel/context.ts'
import { newId } from '../../../packages/server/src/kernel/values/ids.ts'
import { systemClock } from '../../../packages/server/src/runtime/clock.ts'
import { accessRuleRecord, exchangedKeyRecord } from './access-records.ts'
import { keyRecord } from './key-records.ts'
import { linkRecord } from './links.ts'
import { createPersonSession, ruleRecord } from './sessions.ts'
import { createProject, limits, origin } from './store.ts'

/** The registry of `fillRegistry`. */
export interface FullRegistry {
  projectId: string
  otherProjectId: string
  /** Two active keys of the project, in a rotation from the first to the second. */
  key: KeyRecord
  second: KeyRecord
  /** One with a `publishedKid`. */
  inactive: KeyRecord
  /** The thumbprint of a key whose private half was submitted. */
  exposed: string
}

/** Signs a checkpoint of the log for the ledgers of the store. */
export function sign(store: Store, signer: LogSigner) {
  const config = { publicUrl: 'https://keys.example.com' }
  return signCheckpoint({ store, clock: systemClock, config }, signer)
}

/** Puts rows into every table, with a value in every column of some row. */
export async function fillRegistry(store: Store, signer: LogSigner): Promise<FullRegistry> {
  const projectId = (await createProject(store, 'payments')).id
  const otherProjectId = (await createProject(store, 'orders')).id
  const put = (members: Partial<KeyRecord>) => {
    const key = keyRecord(projectId, members)
    return store.commit(keyChanges.createKey, { origin: origin(), key, limits })
  }
  const putApiKey = async (name: string, members: Partial<ApiKeyRecord>) => {
    const made = { name, role: 'admin', ...members } as const
    const apiKey = apiKeyRecord(newApiKeySecret(), origin().time, made)
    return store.commit(apiKeyChanges.createApiKey, { origin: origin(), apiKey })
  }
  const [key, second, toDeactivate] = [
    await put({ label: 'first' }),
    await put({ label: 'second' }),
    await put({ label: 'third', publishedKid: 'old-kid' }),
  ]
  await putApiKey('reader', { role: 'reader', projectId, expireTime: '2099-01-02T03:04:05.678Z' })
  await putApiKey('admin', {})
  const { id } = await putApiKey('revoked', {})
  await store.commit(apiKeyChanges.updateApiKey, { origin: origin(), id, patch: { active: false } })
  const accessRule = accessRuleRecord({ projectId })
  await store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule: accessRule })
  await store.commit(exchangeChanges.exchangeToken, {
    origin: origin(),
    apiKey: exchangedKeyRecord(accessRule),
    rule: accessRule,
    matched: [['sub', 'orders']],
  })
  await createPersonSession(store)
  const rule = ruleRecord({ role: 'reader' })
  await store.commit(accessRuleChanges.createAccessRule, { origin: origin(), rule })
  const { thumbprint: exposed, materialSha256 } = keyRecord(projectId)
  await store.commit(keyChanges.refusePrivateKey, {
    origin: origin(),
    projectId,
    exposed: { thumbprint: exposed, materialSha256 },
  })
  const rotated = { from: key.id, to: second.id, tokenLifetime: 60, jwksMaxAge: 60 }
  const started = { origin: origin(), projectId, id: newId(), ...rotated }
  await store.commit(rotationChanges.startRotation, started)
  const opened = linkRecord(projectId, {
    algorithms: ['ES256'],
    returnUrl: 'https://platform.example.com/',
  })
  for (const link of [opened, linkRecord(projectId)]) {
    await store.commit(linkChanges.createLink, { origin: origin(), projectId, id: link.id, link })
  }
  const ofOpened = { origin: origin(), projectId, id: opened.id }
  await store.commit(linkChanges.openLink, { ...ofOpened, sessionDigest: apiKeyDigest('session') })
  await store.commit(linkChanges.revokeLink, ofOpened)
  await store.commit(projectChanges.renameProject, {
    origin: origin(),
    projectId: otherProjectId,
    name: 'orders-2',
  })
  const { key: inactive } = await store.commit(keyChanges.updateKey, {
    origin: origin('2026-01-02T03:04:06.000Z'),
    projectId,
    kid: toDeactivate.id,
    patch: { active: false },
    limits,
  })
  const used = Date.parse(origin().time)
  await store.commit(keyUseChanges.reportKeyUses, {
    ...{ origin: origin(), projectId, reporter: 'orders-api', owner: id, interval: 3_600 },
    uses: [{ id: key.id, time: used, exp: used + 60_000 }],
  })
  const { time } = origin()
  await store.commit(auditChanges.passAudit, { projectId, kids: [key.id], rules: '1', time })
  await sign(store, signer)
  return { projectId, otherProjectId, key, second, inactive, exposed }
}
