import type {
  TrustPolicy,
  TrustPolicyCreate,
  TrustPolicyUpdate,
} from '../../contract/trust/policies.ts'
import { invalidField } from '../../errors.ts'
import { present } from '../../runtime/present.ts'
import type { Principal, RequestContext } from '../access/principal.ts'
import { findProject } from '../access/projects.ts'
import type { Context } from '../context.ts'
import { collectFaults, notFound, type Submitted } from '../faults.ts'
import { newId, parseId } from '../ids.ts'
import { rejectPrivateKeys } from '../keys/intake.ts'
import { parseLabel } from '../labels.ts'
import { changeOf, deletionOf } from '../managed-records.ts'
import type { RecordReference, TrustPolicyRecord } from '../records.ts'
import { mergeConditions, requireConditions } from './conditions.ts'
import {
  requireAudience,
  requireNarrow,
  requireRotation,
  requireSource,
  sourceOf,
} from './policy-rules.ts'

export function toTrustPolicy(record: TrustPolicyRecord): TrustPolicy {
  const { enabled: _enabled, contradicted: _contradicted, ...members } = record
  return { ...members, allProjects: record.projectId === undefined, active: isApplied(record) }
}

/** Whether the policy accepts tokens at all. */
export function isApplied({ enabled, contradicted }: TrustPolicyRecord): boolean {
  return enabled && contradicted === undefined
}

export async function createTrustPolicy(
  context: RequestContext,
  { fields, malformed }: Submitted<TrustPolicyCreate>,
): Promise<TrustPolicy> {
  const { origin, config, principal } = context
  await rejectPrivateKeys(context, {
    '/name': fields.name,
    '/jwks': fields.jwks,
    '': malformed?.text,
  })
  const { attempt, attemptAsync, throwAny } = collectFaults(malformed?.faults)
  const { name, issuer = '', conditions = {}, role, project, allProjects = false } = fields
  const { audience = config.publicUrl } = fields
  const isRotation = fields.keySource === 'project'
  const { singleUse = isRotation } = fields
  const label = attempt(() => name && parseLabel(name, '/name'))
  const source = attempt(() => requireSource({ ...fields, issuer }))
  if (fields.issuer !== undefined && fields.conditions !== undefined) {
    attempt(() => (isRotation ? requireConditions(conditions) : requireNarrow(issuer, conditions)))
  }
  attempt(() => requireAudience(audience))
  const bound = await attemptAsync(async () => {
    requireScope(project, allProjects)
    return project === undefined ? undefined : await findProject(context, principal, project)
  })
  if (isRotation && role !== undefined && (bound !== undefined || allProjects)) {
    const scope = present({ projectId: bound?.id })
    attempt(() =>
      requireRotation({ issuer, audience, role, singleUse, ...scope }, config.publicUrl),
    )
  }
  throwAny()
  if (!label || source === undefined || role === undefined) {
    throw new Error('a fault was not reported')
  }
  const policy = await context.store.commit({
    type: 'trust_policy.create',
    origin,
    policy: {
      id: newId(),
      name: label,
      ...source,
      audience,
      conditions,
      role,
      ...present({ projectId: bound?.id }),
      singleUse,
      maxLifetime: fields.maxLifetime ?? defaultLifetime,
      enabled: fields.active ?? true,
      createTime: origin.time,
      updateTime: origin.time,
    },
  })
  return toTrustPolicy(policy)
}

/** Seconds. */
const defaultLifetime = 900

/** A policy for all projects must say so: a project that was forgotten must not mean all. */
function requireScope(project: string | undefined, allProjects: boolean): void {
  if ((project === undefined) === allProjects) return
  const detail =
    project === undefined
      ? 'project is required: name the project that the API keys are for, or send "allProjects": true.'
      : 'project and allProjects exclude each other. Send one of them.'
  throw invalidField('/project', 'required', detail)
}

export async function listTrustPolicies({ store }: Context): Promise<TrustPolicy[]> {
  return (await store.trustPolicies()).map(toTrustPolicy)
}

export async function getTrustPolicy(
  { store }: Context,
  _principal: Principal,
  id: string,
): Promise<TrustPolicy> {
  return toTrustPolicy(findTrustPolicy(await store.trustPolicies(), id))
}

/** The policy that a request names. Throws `trust_policy_not_found`. */
export function findTrustPolicy(all: readonly TrustPolicyRecord[], id: string): TrustPolicyRecord {
  const policy = all.find((one) => one.id === parseId(id))
  if (policy === undefined) throw notFound('trust_policy_not_found')
  return policy
}

/** Applies a merge patch (RFC 7396). All API keys exchanged under the policy end, unless only its name changes. */
export async function updateTrustPolicy(
  context: RequestContext,
  policy: RecordReference,
  { fields, malformed }: Submitted<TrustPolicyUpdate>,
): Promise<TrustPolicy> {
  await rejectPrivateKeys(context, {
    '/name': fields.name,
    '/jwks': fields.jwks,
    '': malformed?.text,
  })
  const { attempt, throwAny } = collectFaults(malformed?.faults)
  const { name, audience, ...rest } = fields
  const label = attempt(() => name && parseLabel(name, '/name'))
  attempt(() => audience === undefined || requireAudience(audience))
  throwAny()
  const patch = {
    ...rest,
    ...present({ name: label, audience }),
  }
  const change = { ...changeOf(context, policy, 'trust_policy_not_found'), patch }
  return toTrustPolicy(await context.store.commit({ type: 'trust_policy.update', ...change }))
}

export const deleteTrustPolicy = deletionOf('trust_policy.delete', 'trust_policy_not_found')

/** Throws `invalid_request` if the patched policy breaks a rule. */
export function patchTrustPolicy(
  before: TrustPolicyRecord,
  patch: TrustPolicyUpdate,
): TrustPolicyRecord {
  const { active, conditions, jwks, jwksUri, ...rest } = patch
  const after = {
    ...before,
    ...rest,
    ...sourceOf(before, { jwks, jwksUri }),
    conditions: mergeConditions(before.conditions, conditions),
    enabled: active ?? before.enabled,
  }
  if (after.keySource === 'project') {
    requireConditions(after.conditions)
    requireRotation(after)
  } else requireNarrow(after.issuer, after.conditions)
  return after
}
