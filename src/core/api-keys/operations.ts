import type { ApiKey, ApiKeyCreate, ApiKeyCreated, ApiKeyUpdate } from '../../contract/api-keys.ts'
import { PubringError } from '../../errors.ts'
import { findProject, isApiKeyActive, type Principal } from '../access.ts'
import type { Context } from '../context.ts'
import { parseExpireTime } from '../expiry.ts'
import { newId, parseId } from '../ids.ts'
import { incidentOf } from '../keys/incidents.ts'
import { rejectPrivateKeys } from '../keys/intake.ts'
import { parseLabel } from '../keys/labels.ts'
import { type EventChanges, eventChanges } from '../ledger/chain.ts'
import type { ApiKeyPatch, Origin } from '../ledger/changes.ts'
import type { ApiKeyRecord } from '../records.ts'
import { now, parseTime } from '../times.ts'
import { apiKeyDigest, newApiKeySecret, secretPrefix } from './secrets.ts'

export function toApiKey(record: ApiKeyRecord, time: string): ApiKey {
  const { digest: _digest, enabled: _enabled, ...members } = record
  return { ...members, active: isApiKeyActive(record, time) }
}

/**
 * Makes an API key, never a stronger or wider one than the caller's own. The secret is in the
 * answer and nowhere else.
 */
export async function createApiKey(
  context: Context,
  principal: Principal,
  origin: Origin,
  body: ApiKeyCreate,
): Promise<ApiKeyCreated> {
  await rejectPrivateKeys(context, incidentOf(principal, origin), { '/name': body.name })
  const name = parseLabel(body.name, '/name')
  const projectId =
    body.project === undefined
      ? undefined
      : (await findProject(context, principal, body.project)).id
  if (principal.projectId !== undefined && projectId === undefined) {
    throw new PubringError(
      'insufficient_role',
      'This API key is bound to one project and can only make API keys for it: name that project in "project".',
    )
  }
  return registerApiKey(context.store, origin, {
    name,
    role: body.role,
    ...(projectId === undefined ? {} : { projectId }),
    ...(body.expireTime === undefined
      ? {}
      : { expireTime: parseExpireTime(body.expireTime, origin.time) }),
  })
}

/** Makes an admin API key for all projects on behalf of whoever can reach the database itself. */
export async function createAdminApiKey(
  { store, clock }: Pick<Context, 'store' | 'clock'>,
  actor: string,
  name: string,
): Promise<ApiKeyCreated> {
  const origin = { actor: { name: actor }, requestId: newId(), time: now(clock) }
  return registerApiKey(store, origin, { name: parseLabel(name, '/name'), role: 'admin' })
}

async function registerApiKey(
  store: Context['store'],
  origin: Origin,
  members: ApiKeyMembers,
): Promise<ApiKeyCreated> {
  const secret = newApiKeySecret()
  const record = apiKeyRecord(secret, origin.time, members)
  const apiKey = await store.commit({ type: 'api_key.create', origin, apiKey: record })
  return { ...toApiKey(apiKey, origin.time), apiKey: secret }
}

type ApiKeyMembers = Pick<ApiKeyRecord, 'name' | 'role' | 'projectId' | 'expireTime'>

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

/** The caller's own API key, as the store has it. */
export async function getOwnApiKey(context: Context, principal: Principal): Promise<ApiKey> {
  const record = await context.store.findApiKey(principal.apiKeyId)
  if (record === undefined) throw apiKeyNotFound()
  return toApiKey(record, now(context.clock))
}

export async function listApiKeys(context: Context, principal: Principal): Promise<ApiKey[]> {
  const records = await context.store.listApiKeys(principal.projectId)
  const time = now(context.clock)
  return records.map((record) => toApiKey(record, time))
}

/**
 * Throws `api_key_not_found`. A caller that is bound to a project has only that project's looked
 * through, so that one outside it is as absent as one that never was, in the same time.
 */
export async function getApiKey(
  context: Context,
  principal: Principal,
  id: string,
): Promise<ApiKey> {
  const parsed = requireId(id)
  const { store, clock } = context
  const record =
    principal.projectId === undefined
      ? await store.findApiKey(parsed)
      : (await store.listApiKeys(principal.projectId)).find((each) => each.id === parsed)
  if (record === undefined) throw apiKeyNotFound()
  return toApiKey(record, now(clock))
}

/** Merge patch (RFC 7396); throws `last_admin_api_key` where nobody could administer any more. */
export async function updateApiKey(
  context: Context,
  principal: Principal,
  origin: Origin,
  { id, ...precondition }: ApiKeyReference,
  body: ApiKeyUpdate,
): Promise<ApiKey> {
  const { expireTime, name, ...rest } = body
  await rejectPrivateKeys(context, incidentOf(principal, origin), { '/name': name })
  const patch: ApiKeyPatch = {
    ...rest,
    ...(name === undefined ? {} : { name: parseLabel(name, '/name') }),
    ...(expireTime === undefined ? {} : { expireTime: expireTime && parseTime(expireTime) }),
  }
  const about = { id: requireId(id), ...boundTo(principal), ...precondition }
  const record = await context.store.commit({ type: 'api_key.update', origin, ...about, patch })
  return toApiKey(record, now(context.clock))
}

/** Revokes for good: the secret opens nothing any more, and the API key leaves the list. */
export async function deleteApiKey(
  context: Context,
  principal: Principal,
  origin: Origin,
  { id, ...precondition }: ApiKeyReference,
): Promise<void> {
  const about = { id: requireId(id), ...boundTo(principal), ...precondition }
  await context.store.commit({ type: 'api_key.delete', origin, ...about })
}

/** An API key as a request names it: by its id, and by the state that it wants to find it in. */
interface ApiKeyReference {
  id: string
  ifMatch?: string
}

function requireId(id: string): string {
  const parsed = parseId(id)
  if (parsed === undefined) throw apiKeyNotFound()
  return parsed
}

function boundTo({ projectId }: Principal): { boundTo?: string } {
  return projectId === undefined ? {} : { boundTo: projectId }
}

export function apiKeyNotFound(): PubringError {
  return new PubringError(
    'api_key_not_found',
    'There is no API key with this id that yours may see. GET /v1/api-keys lists those it may.',
  )
}

/** The API key after the patch. */
export function patchApiKey(before: ApiKeyRecord, patch: ApiKeyPatch): ApiKeyRecord {
  const { expireTime: old, ...rest } = before
  const expireTime = patch.expireTime === undefined ? old : (patch.expireTime ?? undefined)
  return {
    ...rest,
    name: patch.name ?? before.name,
    role: patch.role ?? before.role,
    enabled: patch.active ?? before.enabled,
    ...(expireTime === undefined ? {} : { expireTime }),
  }
}

/** What a change did to an API key; `before` is absent at its creation. No secret, no digest. */
export function apiKeyChanges(before: ApiKeyRecord | undefined, after: ApiKeyRecord): EventChanges {
  const recorded = ({ name, role, projectId, enabled, expireTime }: ApiKeyRecord) => ({
    name,
    role,
    projectId,
    active: enabled,
    expireTime,
  })
  return eventChanges(before && recorded(before), recorded(after))
}

/** Whether it can administer everything, today and for good. */
function isLastingAdmin({ role, projectId, enabled, expireTime }: ApiKeyRecord): boolean {
  return role === 'admin' && projectId === undefined && enabled && expireTime === undefined
}

/** Throws `last_admin_api_key` where the change would take the last lasting unbound admin away. */
export function requireOtherAdmin(
  all: readonly ApiKeyRecord[],
  before: ApiKeyRecord,
  after: ApiKeyRecord | undefined,
): void {
  if (!isLastingAdmin(before) || (after !== undefined && isLastingAdmin(after))) return
  if (all.some((other) => other.id !== before.id && isLastingAdmin(other))) return
  throw new PubringError(
    'last_admin_api_key',
    'This is the last API key that can administer everything for good. Make another admin API key without a project or expireTime first.',
  )
}
