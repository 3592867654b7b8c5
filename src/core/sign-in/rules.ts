import type { ClaimValue, Conditions } from '../../contract/access-rules/conditions.ts'
import type {
  SignInRule,
  SignInRuleCreate,
  SignInRuleUpdate,
} from '../../contract/sign-in/rules.ts'
import { invalidField } from '../../errors.ts'
import { present } from '../../runtime/present.ts'
import type { Principal, RequestContext } from '../access/principal.ts'
import { findProject } from '../access/projects.ts'
import {
  isPlain,
  mergeConditions,
  prefixOf,
  requireConditions,
} from '../access-rules/conditions.ts'
import type { Context } from '../context.ts'
import { collectFaults, notFound, type Submitted } from '../faults.ts'
import { newId, parseId } from '../ids.ts'
import { rejectPrivateKeys } from '../keys/intake.ts'
import { parseLabel } from '../labels.ts'
import { changeOf, deletionOf } from '../managed-records.ts'
import type { RecordReference, SignInRuleRecord } from '../records.ts'

export function toSignInRule({
  enabled,
  contradicted: _contradicted,
  ...rule
}: SignInRuleRecord): SignInRule {
  return { ...rule, active: enabled }
}

export async function createSignInRule(
  context: RequestContext,
  { fields, malformed }: Submitted<SignInRuleCreate>,
): Promise<SignInRule> {
  const { origin, principal, config } = context
  const { name, conditions, role, project, issuer = config.oidc?.issuer } = fields
  const texts = { '/name': name, '/conditions': conditions, '': malformed?.text }
  await rejectPrivateKeys(context, texts)
  const { attempt, attemptAsync, throwAny } = collectFaults(malformed?.faults)
  const label = attempt(() => (name === undefined ? undefined : parseLabel(name, '/name')))
  attempt(() => requireIssuer(issuer))
  if (conditions !== undefined && issuer !== undefined) {
    attempt(() => requireNarrow(issuer, conditions))
  }
  const bound = await attemptAsync(async () =>
    project === undefined ? undefined : await findProject(context, principal, project),
  )
  throwAny()
  if (label === undefined || role === undefined || !conditions || issuer === undefined) {
    throw new Error('a fault was not reported')
  }
  const record = await context.store.commit({
    type: 'sign_in_rule.create',
    origin,
    rule: {
      id: newId(),
      name: label,
      issuer,
      conditions,
      role,
      ...present({ projectId: bound?.id }),
      enabled: fields.active ?? true,
      createTime: origin.time,
      updateTime: origin.time,
    },
  })
  return toSignInRule(record)
}

function requireIssuer(issuer: string | undefined): void {
  if (issuer !== undefined && isPlain(issuer)) return
  throw invalidField(
    '/issuer',
    issuer === undefined ? 'required' : 'text_invalid',
    'issuer is the address of the OpenID provider. Without PUBRING_OIDC_ISSUER there is no default: send it.',
  )
}

/** Claims that tell apart the users of Google, where anyone can have an account. */
const googleClaims = ['hd', 'email', 'sub']

/**
 * Throws `invalid_request` unless a condition selects some of the people of the provider. A rule for
 * all of them must say so by a condition on `iss`, which is refused where anyone can have an account, as
 * are patterns: anyone can register a domain that begins with `example.com`.
 */
function requireNarrow(issuer: string, conditions: Conditions): void {
  requireConditions(conditions)
  const isOpen = issuer === 'https://accounts.google.com'
  const isNarrow = ([name, value]: [string, ClaimValue]) =>
    isOpen ? googleClaims.includes(name) && prefixOf(value) === undefined : prefixOf(value) !== ''
  if (Object.entries(conditions).some(isNarrow)) return
  throw invalidField(
    '/conditions',
    'too_wide',
    isOpen
      ? 'Anyone can have an account at Google. Add a condition on hd (the domain of your organization), email or sub that is no pattern.'
      : 'The rule would apply to every account at the provider. Add a condition, such as {"groups": "platform"}; for all accounts, it is {"iss": "ISSUER"}.',
  )
}

export async function listSignInRules({ store }: Context): Promise<SignInRule[]> {
  return (await store.signInRules()).map(toSignInRule)
}

/** Throws `sign_in_rule_not_found`. */
export async function getSignInRule(
  { store }: Context,
  _principal: Principal,
  id: string,
): Promise<SignInRule> {
  const rule = (await store.signInRules()).find((one) => one.id === parseId(id))
  if (rule === undefined) throw notFound('sign_in_rule_not_found')
  return toSignInRule(rule)
}

/** Applies a merge patch (RFC 7396), which takes effect with the next request of each session. */
export async function updateSignInRule(
  context: RequestContext,
  rule: RecordReference,
  { fields, malformed }: Submitted<SignInRuleUpdate>,
): Promise<SignInRule> {
  const { name, ...rest } = fields
  const texts = { '/name': name, '/conditions': rest.conditions, '': malformed?.text }
  await rejectPrivateKeys(context, texts)
  const { attempt, throwAny } = collectFaults(malformed?.faults)
  const label = attempt(() => (name === undefined ? undefined : parseLabel(name, '/name')))
  throwAny()
  const patch = { ...rest, ...present({ name: label }) }
  const change = { ...changeOf(context, rule, 'sign_in_rule_not_found'), patch }
  return toSignInRule(await context.store.commit({ type: 'sign_in_rule.update', ...change }))
}

export const deleteSignInRule = deletionOf('sign_in_rule.delete', 'sign_in_rule_not_found')

/** Throws `invalid_request` if the patched rule would be too wide. */
export function patchSignInRule(
  before: SignInRuleRecord,
  { active, conditions, ...rest }: SignInRuleUpdate,
): SignInRuleRecord {
  const after = {
    ...before,
    ...rest,
    conditions: mergeConditions(before.conditions, conditions),
    enabled: active ?? before.enabled,
  }
  requireNarrow(after.issuer, after.conditions)
  return after
}
