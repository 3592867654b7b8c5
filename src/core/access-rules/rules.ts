import type {
  AccessRule,
  AccessRuleCreate,
  AccessRuleUpdate,
} from '../../contract/access-rules/rules.ts'
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
import type { AccessRuleRecord, RecordReference } from '../records.ts'
import { mergeConditions, requireConditions } from './conditions.ts'
import {
  requireAudience,
  requireNarrow,
  requireRotation,
  requireSource,
  sourceOf,
} from './validation.ts'

export function toAccessRule(record: AccessRuleRecord): AccessRule {
  const { enabled: _enabled, contradicted: _contradicted, ...members } = record
  return { ...members, allProjects: record.projectId === undefined, active: isApplied(record) }
}

/** Whether the rule accepts tokens at all. */
export function isApplied({ enabled, contradicted }: AccessRuleRecord): boolean {
  return enabled && contradicted === undefined
}

export async function createAccessRule(
  context: RequestContext,
  { fields, malformed }: Submitted<AccessRuleCreate>,
): Promise<AccessRule> {
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
  const rule = await context.store.commit({
    type: 'access_rule.create',
    origin,
    rule: {
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
  return toAccessRule(rule)
}

/** Seconds. */
const defaultLifetime = 900

/** A rule for all projects must say so: a project that was forgotten must not mean all. */
function requireScope(project: string | undefined, allProjects: boolean): void {
  if ((project === undefined) === allProjects) return
  const detail =
    project === undefined
      ? 'project is required: name the project that the API keys are for, or send "allProjects": true.'
      : 'project and allProjects exclude each other. Send one of them.'
  throw invalidField('/project', 'required', detail)
}

export async function listAccessRules({ store }: Context): Promise<AccessRule[]> {
  return (await store.accessRules()).map(toAccessRule)
}

export async function getAccessRule(
  { store }: Context,
  _principal: Principal,
  id: string,
): Promise<AccessRule> {
  return toAccessRule(findAccessRule(await store.accessRules(), id))
}

/** The rule that a request names. Throws `access_rule_not_found`. */
export function findAccessRule(all: readonly AccessRuleRecord[], id: string): AccessRuleRecord {
  const rule = all.find((one) => one.id === parseId(id))
  if (rule === undefined) throw notFound('access_rule_not_found')
  return rule
}

/** Applies a merge patch (RFC 7396). All API keys exchanged under the rule end, unless only its name changes. */
export async function updateAccessRule(
  context: RequestContext,
  rule: RecordReference,
  { fields, malformed }: Submitted<AccessRuleUpdate>,
): Promise<AccessRule> {
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
  const change = { ...changeOf(context, rule, 'access_rule_not_found'), patch }
  return toAccessRule(await context.store.commit({ type: 'access_rule.update', ...change }))
}

export const deleteAccessRule = deletionOf('access_rule.delete', 'access_rule_not_found')

/** Throws `invalid_request` if the patched rule breaks a rule. */
export function patchAccessRule(
  before: AccessRuleRecord,
  patch: AccessRuleUpdate,
): AccessRuleRecord {
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
