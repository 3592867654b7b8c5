import { withTimeout } from '../../async/semaphore.ts'
import { invalidField, PubringError } from '../../errors.ts'
import type { RequestContext } from '../../kernel/access/principal.ts'
import { isCovered } from '../../kernel/access/remaining.ts'
import { seenPeople } from '../../kernel/access/seen-people.ts'
import type { Context } from '../../kernel/context.ts'
import { readTimeOfUse } from '../../kernel/ledger/token-uses.ts'
import { OutboundError } from '../../outbound/outbound.ts'
import { checkIssuer } from '../../tokens/claims.ts'
import { checkForm, type DecodedToken, decodeToken } from '../../tokens/decode.ts'
import {
  type Finding,
  failed,
  passed,
  quote,
  runSteps,
  type Step,
  skipped,
  warned,
} from '../../tokens/findings.ts'
import { explainUnmet } from './conditions.ts'
import type {
  AccessRule,
  AccessRuleCheck,
  AccessRuleCheckRequest,
  AccessRuleCreate,
} from './contract.ts'
import { describeKeys, type IssuerKeys } from './issuer-keys.ts'
import { findAccessRule, newAccessRule, patchAccessRule } from './operations.ts'
import { grantsOf } from './people.ts'
import { isForPeople, readPeopleRules, readWorkloadRules } from './reads.ts'
import { type AccessRuleRecord, isApplied, type PeopleRule, type WorkloadRule } from './stored.ts'
import { checkRule, checkSignature, examineSubjectToken } from './subject-tokens.ts'

/** Reports whether the rule would give its role now. Nothing of the token or the claims is stored. */
export async function checkAccessRule(
  context: RequestContext,
  keys: IssuerKeys,
  id: string,
  subject: AccessRuleCheckRequest,
): Promise<AccessRuleCheck> {
  const rule = await findAccessRule(context.store.reader, id)
  requireOneSubject(rule, subject)
  const { token: text, claims, change } = subject
  if (change !== undefined) return comparePeople(context, patchAccessRule(rule, change))
  if (claims !== undefined && rule.for === 'people') return checkClaims(context, rule, claims)
  const token = decodeToken(text ?? '')
  if ('fault' in token) {
    return { accepted: false, steps: [{ step: 'well_formed', ...failed(token.fault) }] }
  }
  const { header } = token
  if (rule.for === 'workloads') return { ...(await checkToken(context, keys, rule, token)), header }
  return { ...(await checkClaims(context, rule, token.claims, token)), header }
}

/** The longest that the response to a change waits for the keys of the issuer. */
const noteTimeoutMs = 3_000

/**
 * Adds to a rule that this request has changed what is found where the keys of its issuer are. The change
 * is committed, so a fault of the search is reported to `onFault`, and the rule has no note.
 */
export async function noteKeys(
  context: RequestContext,
  rule: AccessRule,
  onFault: (error: unknown) => void,
): Promise<AccessRule> {
  const { keySource, active, updateTime } = rule
  const isChanged = updateTime === context.origin.time
  if (keySource === undefined || keySource === 'project' || !active || !isChanged) return rule
  const search = describeKeys(context, { ...rule, keySource })
  const late = () =>
    new OutboundError(`They were not read within ${noteTimeoutMs / 1_000} seconds.`)
  try {
    const { detail } = await withTimeout(search, noteTimeoutMs, late)
    return { ...rule, notes: [detail] }
  } catch (error) {
    if (error instanceof OutboundError || error instanceof PubringError) {
      return { ...rule, notes: [`No key of the issuer verifies a token now: ${error.message}`] }
    }
    onFault(error)
    return rule
  }
}

/** Throws `invalid_request` unless there is a token or, for people, their claims or a change. */
function requireOneSubject(rule: AccessRuleRecord, subject: AccessRuleCheckRequest): void {
  const isForPeople = rule.for === 'people'
  const isAlone = Object.keys(subject).length === 1
  if (isAlone && (isForPeople || subject.token !== undefined)) return
  const detail = isForPeople
    ? 'Send one of token, an ID token of a person, claims, or change.'
    : 'Send token, as a workload would. claims and change are for rules for people.'
  throw invalidField(isForPeople ? '/claims' : '/token', 'required', detail)
}

async function checkToken(
  { clock, store }: Context,
  keys: IssuerKeys,
  rule: WorkloadRule,
  token: DecodedToken,
): Promise<AccessRuleCheck> {
  const examine = async (one: WorkloadRule) => {
    let isVerified = true
    const verify = async () => {
      const { isUnreachable, ...finding } = await checkSignature(token, one, keys)
      isVerified = !isUnreachable
      return isUnreachable ? skipped(`The signature was not checked. ${finding.detail}`) : finding
    }
    const timeOfUse = (digest: string) => readTimeOfUse(store.reader, digest)
    const report = await examineSubjectToken(token, one, { verify, timeOfUse, nowMs: clock.now() })
    return { steps: report.steps, grant: isVerified ? report.grant : undefined }
  }
  const { steps, grant } = await examine(rule)
  const { claims } = token
  if (grant === undefined) return { accepted: false, steps, claims }
  const others: WorkloadRule[] = []
  for (const one of await readWorkloadRules(store.reader)) {
    const isCandidate = one.id !== rule.id && isApplied(one) && one.issuer === rule.issuer
    if (isCandidate && (await examine(one)).grant !== undefined) others.push(one)
  }
  const { expireTime } = grant
  const ambiguity = { step: 'others', ...describeOthers(rule, others) } as const
  return { accepted: true, steps: [...steps, ambiguity], claims, expireTime }
}

/** An exchange that names no rule is refused if several accept the token. */
function describeOthers({ id }: WorkloadRule, others: readonly WorkloadRule[]): Finding {
  if (others.length === 0) return passed('No other rule accepts this token.')
  const named = others.map(({ name, id }) => `${quote(name)} (${id})`).join(', ')
  return warned(
    `Other rules accept this token too: ${named}. An exchange is refused unless it names one of them: rule=${id}.`,
  )
}

/** Says who would gain access by a new rule, which is not stored. */
export async function checkNewAccessRule(
  context: RequestContext,
  fields: AccessRuleCreate,
): Promise<AccessRuleCheck> {
  return comparePeople(context, await newAccessRule(context, { fields }))
}

/** Compares the roles that people have with those that they would have by the new or changed rule. */
async function comparePeople(
  { store, hooks, origin, principal }: RequestContext,
  rule: AccessRuleRecord,
): Promise<AccessRuleCheck> {
  const rules = await readPeopleRules(store.reader, { isLocked: false })
  const changedRules = [...rules.filter(({ id }) => id !== rule.id), rule].filter(isForPeople)
  const people = (await seenPeople(hooks, store.reader, origin.time)).flatMap((person) => {
    const before = grantsOf(person, rules)
    const after = grantsOf(person, changedRules)
    const { id, name, issuer, subject } = person
    const { holder } = principal
    const self = 'subject' in holder && holder.subject === subject && holder.issuer === issuer
    const gains = !after.every((grant) => isCovered(grant, before))
    const loses = !before.every((grant) => isCovered(grant, after))
    const effects = [gains ? (['gains'] as const) : [], loses ? (['loses'] as const) : []].flat()
    return effects.map((effect) => ({ id, name, effect, self }))
  })
  const count = (effect: string) => people.filter((one) => one.effect === effect).length
  const detail = `Of those who signed in within the last 30 days, ${count('gains')} would gain access, and ${count('loses')} would lose it.`
  const accepted = count('loses') === 0
  const finding = (accepted ? passed : warned)(detail)
  return { accepted, steps: [{ step: 'people', ...finding }], people }
}

/** Compares claims, as every request of a session does with those of the sign-in. */
async function checkClaims(
  { config }: Context,
  rule: PeopleRule,
  claims: DecodedToken['claims'],
  token?: DecodedToken,
): Promise<AccessRuleCheck> {
  const ofToken = (step: Step<AccessRuleCheck['steps'][number]['step']>) => (token ? [step] : [])
  const { failed: fault, steps } = await runSteps([
    ...ofToken(['well_formed', () => (token ? checkForm(token) : skipped(''))]),
    ['iss', () => checkProvider(rule, claims, config.oidc?.issuer)],
    ['rule_active', () => checkRule(rule)],
    ...ofToken(['signature', () => skipped('A sign-in verifies it; this compares the claims.')]),
    ['conditions', () => checkConditions(rule, claims)],
  ])
  return { accepted: fault === undefined, steps, claims }
}

function checkProvider({ issuer }: PeopleRule, claims: DecodedToken['claims'], provider?: string) {
  if (issuer !== provider) {
    return failed(`The rule is for people of ${issuer}, where nobody signs in any more.`)
  }
  if (claims.iss === undefined) return skipped('The claims name no issuer.')
  return checkIssuer(claims, { own: issuer, requested: issuer })
}

function checkConditions({ conditions }: PeopleRule, claims: DecodedToken['claims']) {
  const unmet = explainUnmet(conditions, claims)
  return unmet.length > 0 ? failed(unmet.join(' ')) : passed('All conditions are met.')
}
