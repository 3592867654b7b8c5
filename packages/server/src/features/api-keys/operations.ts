import { PubringError } from '../../errors.ts'
import {
  type Access,
  projectsWith,
  requireAccess,
  requireUnboundAuditor,
} from '../../kernel/access/grants.ts'
import type { Principal, RequestContext } from '../../kernel/access/principal.ts'
import { findProject } from '../../kernel/access/projects.ts'
import { apiKeyDigest, newApiKeySecret, secretPrefix } from '../../kernel/access/secrets.ts'
import type { Origin } from '../../kernel/changes.ts'
import type { Context } from '../../kernel/context.ts'
import { collectFaults, notFound, type Submitted } from '../../kernel/faults.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { changeOf, deletionOf, requireId } from '../../kernel/managed-records.ts'
import type { RecordReference } from '../../kernel/records.ts'
import { newId } from '../../kernel/values/ids.ts'
import { parseLabel } from '../../kernel/values/labels.ts'
import {
  isActive,
  now,
  parseExpireTime,
  parseExpiryPatch,
  patchExpireTime,
} from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import { rejectPrivateKeys } from '../keys/exposure/incidents.ts'
import { apiKeyChanges } from './changes.ts'
import type { ApiKey, ApiKeyCreate, ApiKeyCreated, ApiKeyUpdate } from './contract.ts'
import { readApiKeys } from './reads.ts'
import { type ApiKeyRecord, apiKeys } from './stored.ts'

export function toApiKey(record: ApiKeyRecord, time: string): ApiKey {
  const {
    digest: _digest,
    enabled: _enabled,
    contradicted: _contradicted,
    sessionId: _sessionId,
    exchanged,
    ...members
  } = record
  return {
    ...members,
    active: isActive(record, time),
    ...(exchanged && { exchanged: { ruleId: exchanged.ruleId, subject: exchanged.subject } }),
  }
}

/** The access that changes of API keys need. */
export const changing = { role: 'admin', auditor: false } as const satisfies Access

/** The access that reads of API keys need. */
const reading = { role: 'admin', auditor: true } as const satisfies Access

/** Creates an API key with at most the caller's rights. Only the result contains the secret. */
export async function createApiKey(
  context: RequestContext,
  { fields, malformed }: Submitted<ApiKeyCreate>,
): Promise<ApiKeyCreated> {
  const { principal, origin } = context
  const { name, role, project, expireTime } = fields
  await rejectPrivateKeys(context, { '/name': name, '': malformed?.text })
  const { attempt, throwAny } = collectFaults(malformed?.faults)
  const label = attempt(() => (name === undefined ? undefined : parseLabel(name, '/name')))
  const expiry = attempt(() => {
    return expireTime === undefined ? {} : { expireTime: parseExpireTime(expireTime, origin.time) }
  })
  attempt(() => requireUnboundAuditor(role, project !== undefined))
  throwAny()
  if (label === undefined || role === undefined) throw new Error('a fault was not reported')
  const bound = project === undefined ? undefined : await findProject(context, principal, project)
  if (bound !== undefined) {
    requireAccess(principal.grants, changing, bound.id)
  } else if (projectsWith(principal.grants, changing) !== 'all') {
    throw new PubringError(
      'insufficient_role',
      'Your API key is bound to one project and can only create API keys for it. Name that project in "project".',
    )
  }
  return registerApiKey(context.store, origin, {
    name: label,
    role,
    ...present({ projectId: bound?.id }),
    ...expiry,
  })
}

/** Creates an admin API key for all projects, for an operator with access to the database. */
export async function createAdminApiKey(
  store: Context['store'],
  name: string,
): Promise<ApiKeyCreated> {
  const actor = { name: 'pubring api-key create' }
  const origin = { actor, requestId: newId(), time: now(store.clock) }
  return registerApiKey(store, origin, { name: parseLabel(name, '/name'), role: 'admin' })
}

async function registerApiKey(
  store: Context['store'],
  origin: Origin,
  members: ApiKeyMembers,
): Promise<ApiKeyCreated> {
  const secret = newApiKeySecret()
  const record = apiKeyRecord(secret, origin.time, members)
  const apiKey = await store.commit(apiKeyChanges.createApiKey, { origin, apiKey: record })
  return { ...toApiKey(apiKey, origin.time), apiKey: secret }
}

type ApiKeyMembers = Pick<
  ApiKeyRecord,
  'name' | 'role' | 'projectId' | 'expireTime' | 'exchanged' | 'sessionId'
>

/** The record of a new API key with this secret. */
export function apiKeyRecord(
  secret: string,
  createTime: string,
  members: ApiKeyMembers,
): ApiKeyRecord {
  return {
    id: newId(),
    ...members,
    prefix: secretPrefix(secret),
    digest: apiKeyDigest(secret),
    enabled: true,
    createTime,
  }
}

export async function getOwnApiKey(context: Context, principal: Principal): Promise<ApiKey> {
  const { holder } = principal
  const { store, clock } = context
  const id = 'apiKeyId' in holder ? holder.apiKeyId : ''
  const record = await apiKeys.find(store.reader, id)
  if (record === undefined) throw notFound('api_key_not_found')
  return toApiKey(record, now(clock))
}

/** The API keys of the projects of which the caller is admin: those that were `exchanged`, or the others. */
export async function listApiKeys(
  { store, clock }: Context,
  { grants }: Principal,
  { exchanged = false }: { exchanged?: boolean },
): Promise<ApiKey[]> {
  const records = await readApiKeys(store.reader, projectsWith(grants, reading), { exchanged })
  const time = now(clock)
  return records.map((record) => toApiKey(record, time))
}

/**
 * Throws `api_key_not_found`. For a caller that is bound to projects, reads only their API keys, so
 * that others give the same error after the same time as unknown ones.
 */
export async function getApiKey(
  context: Context,
  { grants }: Principal,
  id: string,
): Promise<ApiKey> {
  const parsed = requireId(id, 'api_key_not_found')
  const { store, clock } = context
  const projects = projectsWith(grants, reading)
  const [record] = await apiKeys.read(store.reader, (all) => {
    const one = all.where('id', '=', parsed)
    return projects === 'all' ? one : one.where('project_id', 'in', projects)
  })
  if (record === undefined || record.sessionId !== undefined) throw notFound('api_key_not_found')
  return toApiKey(record, now(clock))
}

/** Applies a merge patch (RFC 7396); throws `last_admin` and `own_access`. */
export async function updateApiKey(
  context: RequestContext,
  apiKey: RecordReference,
  { fields, malformed }: Submitted<ApiKeyUpdate>,
): Promise<ApiKey> {
  const { expireTime, name, ...rest } = fields
  await rejectPrivateKeys(context, { '/name': name, '': malformed?.text })
  const { attempt, throwAny } = collectFaults(malformed?.faults)
  const patch: ApiKeyUpdate = {
    ...rest,
    ...attempt(() => (name === undefined ? {} : { name: parseLabel(name, '/name') })),
    ...attempt(() => parseExpiryPatch(expireTime)),
  }
  throwAny()
  const change = { ...changeOf(context, apiKey, 'api_key_not_found'), patch }
  const record = await context.store.commit(apiKeyChanges.updateApiKey, change)
  return toApiKey(record, now(context.clock))
}

/** Deletes an API key, which revokes its secret. */
export const deleteApiKey = deletionOf(apiKeyChanges.deleteApiKey, 'api_key_not_found')

/** Throws `invalid_request` for an auditor of one project. */
export function patchApiKey(before: ApiKeyRecord, patch: ApiKeyUpdate): ApiKeyRecord {
  requireUnboundAuditor(patch.role, before.projectId !== undefined)
  const { expireTime: _expireTime, ...rest } = before
  return {
    ...rest,
    name: patch.name ?? before.name,
    role: patch.role ?? before.role,
    enabled: patch.active ?? before.enabled,
    ...patchExpireTime(before, patch),
  }
}

/** How often issued API keys are removed a day after their end. */
const removalIntervalMs = 60_000

/** Removes them periodically. Best effort: what is left is removed the next time. */
export function removeExpired({ store, clock, onClose }: Kernel): void {
  async function remove(): Promise<void> {
    if (await store.commit(apiKeyChanges.forgetApiKeys, { time: now(clock) })) await remove()
  }
  const timer = setInterval(() => void remove().catch(() => {}), removalIntervalMs).unref()
  onClose(() => clearInterval(timer))
}
