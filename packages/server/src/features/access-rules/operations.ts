import { type FieldError, invalidField } from '../../errors.ts'
import { requireUnboundAuditor } from '../../kernel/access/grants.ts'
import type { Principal, RequestContext } from '../../kernel/access/principal.ts'
import { findProject } from '../../kernel/access/projects.ts'
import type { Context, CoreConfig } from '../../kernel/context.ts'
import type { Role } from '../../kernel/contract.ts'
import { collectFaults, notFound, rejection, type Submitted } from '../../kernel/faults.ts'
import { changeOf, deletionOf, requireId } from '../../kernel/managed-records.ts'
import type { RecordReference } from '../../kernel/records.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { newId } from '../../kernel/values/ids.ts'
import { parseLabel, requirePlain } from '../../kernel/values/labels.ts'
import { present } from '../../runtime/present.ts'
import { rejectPrivateKeys } from '../keys/exposure/incidents.ts'
import { accessRuleChanges } from './changes.ts'
import { mergeConditions, requireConditions } from './conditions.ts'
import {
  type AccessRule,
  type AccessRuleCreate,
  type AccessRuleUpdate,
  type Holders,
  workloadMembers,
  workloadRoles,
} from './contract.ts'
import { requireProvider, requireSomePeople } from './people.ts'
import { readAccessRules } from './reads.ts'
import { type AccessRuleRecord, accessRules, isApplied, type WorkloadRule } from './stored.ts'
import { requireRotation, requireSomeWorkloads, requireSource } from './workloads.ts'

export function toAccessRule(record: AccessRuleRecord): AccessRule {
  const { enabled: _enabled, contradicted: _contradicted, ...members } = record
  return { ...members, allProjects: record.projectId === undefined, active: isApplied(record) }
}

export async function createAccessRule(
  context: RequestContext,
  submitted: Submitted<AccessRuleCreate>,
): Promise<AccessRule> {
  const { origin, store } = context
  const rule = await newAccessRule(context, submitted)
  return toAccessRule(await store.commit(accessRuleChanges.createAccessRule, { origin, rule }))
}

/** The rule that a request describes, which is not stored. Throws `invalid_request` if it breaks a rule. */
export async function newAccessRule(
  context: RequestContext,
  { fields, malformed }: Submitted<AccessRuleCreate>,
): Promise<AccessRuleRecord> {
  const { origin, config, principal } = context
  await rejectPrivateKeys(context, textsOf(fields, malformed?.text))
  const { name, role, project, allProjects = false, conditions } = fields
  const excess = fields.for === 'people' ? excessFaults(fields) : []
  const { faults, attempt, attemptAsync, throwAny } = collectFaults(malformed?.faults)
  faults.push(...excess)
  const label = attempt(() => (name === undefined ? undefined : parseLabel(name, '/name')))
  const bound = await attemptAsync(async () => {
    requireScope(project, allProjects)
    return project === undefined ? undefined : await findProject(context, principal, project)
  })
  const isScoped = bound !== undefined || allProjects
  attempt(() => requireGivable(fields.for, role))
  attempt(() => requireUnboundAuditor(role, project !== undefined))
  const scoped = { ...fields, ...present({ projectId: bound?.id }) }
  const own =
    fields.for === 'people'
      ? readPeople(fields, config, attempt)
      : fields.for === 'workloads' && readWorkloads(scoped, isScoped, config, attempt)
  throwAny()
  if (!label || !own || role === undefined || conditions === undefined) {
    throw new Error('a fault was not reported')
  }
  return {
    id: newId(),
    name: label,
    ...own,
    conditions,
    role,
    ...present({ projectId: bound?.id }),
    enabled: fields.active ?? true,
    createTime: origin.time,
    updateTime: origin.time,
  }
}

type Fields = Partial<AccessRuleCreate>
type Attempt = ReturnType<typeof collectFaults>['attempt']

/** The submitted texts, in which a private key is looked for. */
function textsOf({ name, conditions, jwks }: Fields | AccessRuleUpdate, malformed?: string) {
  return { '/name': name, '/conditions': conditions, '/jwks': jwks, '': malformed }
}

/** Faults for the members that only rules for workloads have. */
function excessFaults(fields: Fields | AccessRuleUpdate): FieldError[] {
  return workloadMembers
    .filter((member) => member in fields)
    .map((member) => ({
      pointer: `/${member}`,
      code: 'contradictory',
      detail: `${member} is only for rules for workloads. Leave it out.`,
    }))
}

/** A rule for all projects must say so: a project that was forgotten must not mean all. */
function requireScope(project: string | undefined, allProjects: boolean): void {
  if ((project === undefined) === allProjects) return
  const detail =
    project === undefined
      ? 'project is required: name the project that the role is for, or send "allProjects": true.'
      : 'project and allProjects exclude each other. Send one of them.'
  throw invalidField('/project', 'required', detail)
}

/** A workload needs no role by which it could give itself more. */
function requireGivable(holders: Holders | undefined, role: Role | undefined): void {
  if (holders !== 'workloads' || role === undefined || workloadRoles.includes(role)) return
  const detail = `role must be one of ${workloadRoles.join(', ')} for workloads.`
  throw invalidField('/role', 'too_wide', detail)
}

function readPeople({ issuer, conditions }: Fields, config: CoreConfig, attempt: Attempt) {
  const provider = attempt(() => requireProvider(config, issuer))
  if (provider === undefined) return undefined
  if (conditions !== undefined) attempt(() => requireSomePeople(provider, conditions))
  return { for: 'people', issuer: provider } as const
}

/** Seconds. */
const defaultLifetime = 900

function readWorkloads(
  fields: Fields & { projectId?: string },
  isScoped: boolean,
  { publicUrl }: CoreConfig,
  attempt: Attempt,
) {
  const { issuer = '', audience = publicUrl, conditions, role, projectId } = fields
  const isRotation = fields.keySource === 'project'
  const { singleUse = isRotation, maxLifetime = defaultLifetime } = fields
  const source = attempt(() => requireSource(fields))
  if (fields.issuer !== undefined && conditions !== undefined) {
    attempt(() =>
      isRotation ? requireConditions(conditions) : requireSomeWorkloads(issuer, conditions),
    )
  }
  attempt(() => requirePlain(audience, '/audience'))
  if (isRotation && isScoped && role !== undefined) {
    const rule = { issuer, audience, role, singleUse, ...present({ projectId }) }
    attempt(() => requireRotation(rule, publicUrl))
  }
  return source && ({ for: 'workloads', ...source, audience, singleUse, maxLifetime } as const)
}

export async function listAccessRules({ store }: Context): Promise<AccessRule[]> {
  return (await readAccessRules(store.reader)).map(toAccessRule)
}

export async function getAccessRule(
  { store }: Context,
  _principal: Principal,
  id: string,
): Promise<AccessRule> {
  return toAccessRule(await findAccessRule(store.reader, id))
}

/** The rule that a request names. Throws `access_rule_not_found`. */
export async function findAccessRule(db: Db, id: string): Promise<AccessRuleRecord> {
  const rule = await accessRules.find(db, requireId(id, 'access_rule_not_found'))
  if (rule === undefined) throw notFound('access_rule_not_found')
  return rule
}

/**
 * Applies a merge patch (RFC 7396), which takes effect with the next request of each session. All API
 * keys exchanged under the rule end, unless only its name changes.
 */
export async function updateAccessRule(
  context: RequestContext,
  rule: RecordReference,
  { fields, malformed }: Submitted<AccessRuleUpdate>,
): Promise<AccessRule> {
  await rejectPrivateKeys(context, textsOf(fields, malformed?.text))
  const { attempt, throwAny } = collectFaults(malformed?.faults)
  const { name, audience, ...rest } = fields
  const label = attempt(() => (name === undefined ? undefined : parseLabel(name, '/name')))
  attempt(() => audience === undefined || requirePlain(audience, '/audience'))
  throwAny()
  const patch = { ...rest, ...present({ name: label, audience }) }
  const change = { ...changeOf(context, rule, 'access_rule_not_found'), patch }
  return toAccessRule(await context.store.commit(accessRuleChanges.updateAccessRule, change))
}

export const deleteAccessRule = deletionOf(
  accessRuleChanges.deleteAccessRule,
  'access_rule_not_found',
)

/** Throws `invalid_request` if the patched rule breaks a rule. */
export function patchAccessRule(
  before: AccessRuleRecord,
  patch: AccessRuleUpdate,
): AccessRuleRecord {
  const { name = before.name, role = before.role, active: enabled = before.enabled } = patch
  requireGivable(before.for, role)
  requireUnboundAuditor(role, before.projectId !== undefined)
  const conditions = mergeConditions(before.conditions, patch.conditions)
  const common = { name, role, conditions, enabled }
  if (before.for === 'workloads') return patchWorkloads({ ...before, ...common }, patch)
  const excess = excessFaults(patch)
  if (excess.length > 0) throw rejection(excess)
  requireSomePeople(before.issuer, conditions)
  return { ...before, ...common }
}

function patchWorkloads(before: WorkloadRule, patch: AccessRuleUpdate): WorkloadRule {
  const { audience, singleUse, maxLifetime, jwks, jwksUri } = patch
  const patched = { ...before, ...present({ audience, singleUse, maxLifetime, jwks, jwksUri }) }
  const after = { ...patched, ...requireSource(patched) }
  if (after.keySource === 'project') {
    requireConditions(after.conditions)
    requireRotation(after)
  } else requireSomeWorkloads(after.issuer, after.conditions)
  return after
}
