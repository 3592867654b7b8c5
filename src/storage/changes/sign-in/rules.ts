import { requireRecentSignIn } from '../../../core/access/recent-sign-in.ts'
import { requirePermanent } from '../../../core/api-keys/lifetime.ts'
import { recordEntityTag, requireIfMatch } from '../../../core/entity-tags.ts'
import { notFound } from '../../../core/faults.ts'
import type { ChangeOf, Origin } from '../../../core/ledger/changes.ts'
import { recordedChanges } from '../../../core/ledger/subjects.ts'
import type { SignInRuleRecord } from '../../../core/records.ts'
import { patchSignInRule, toSignInRule } from '../../../core/sign-in/rules.ts'
import { latest } from '../../../core/times.ts'
import { requireUncontradicted, signInRules } from '../../reads/last-events.ts'
import { signInRuleToRow } from '../../row-mapping.ts'
import type { Db } from '../../schema.ts'
import { requireProject } from '../api-keys.ts'
import { appendEvents, eventAbout, eventOfNew, lockSystemLedger, type NewEvent } from '../ledger.ts'
import type { Outcome } from '../outcome.ts'

/** As for API keys, no rule outlives its project. */
export async function createSignInRule(
  db: Db,
  { rule, origin }: ChangeOf<'sign_in_rule.create'>,
): Promise<Outcome<SignInRuleRecord>> {
  const ledger = await lockSystemLedger(db, origin)
  requireRecentSignIn(ledger.caller, origin)
  requirePermanent(ledger.caller?.apiKey, 'sign-in rule')
  if (rule.projectId !== undefined) await requireProject(db, rule.projectId)
  await db.insertInto('sign_in_rule').values(signInRuleToRow(rule)).execute()
  await appendEvents(ledger, [eventOfNew('sign_in_rule', rule)])
  return { result: rule, changed: true }
}

/** A deactivation, like a deletion, needs no recent sign-in: it takes rights away. */
export async function updateSignInRule(
  db: Db,
  { id, patch, ifMatch, origin }: ChangeOf<'sign_in_rule.update'>,
): Promise<Outcome<SignInRuleRecord>> {
  const ledger = await lockSystemLedger(db, origin)
  const before = await readRule(db, id)
  requireIfMatch(ifMatch, recordEntityTag(toSignInRule(before)), 'sign-in rule')
  requireUncontradicted('sign-in rule', before)
  const patched = patchSignInRule(before, patch)
  const after = { ...patched, updateTime: latest(origin.time, before.updateTime) }
  const changes = recordedChanges('sign_in_rule', before, after)
  if (Object.keys(changes).length === 0) return { result: before, changed: false }
  if (patched.enabled) {
    requireRecentSignIn(ledger.caller, origin)
    requirePermanent(ledger.caller?.apiKey, 'sign-in rule')
  }
  await db.updateTable('sign_in_rule').set(signInRuleToRow(after)).where('id', '=', id).execute()
  await appendEvents(ledger, [eventAbout('sign_in_rule.updated', id, changes)])
  return { result: after, changed: true }
}

export async function deleteSignInRule(
  db: Db,
  { id, ifMatch, origin }: ChangeOf<'sign_in_rule.delete'>,
): Promise<Outcome<undefined>> {
  const ledger = await lockSystemLedger(db, origin)
  const rule = await readRule(db, id)
  requireIfMatch(ifMatch, recordEntityTag(toSignInRule(rule)), 'sign-in rule')
  await appendEvents(ledger, [await removeRule(db, rule)])
  return { result: undefined, changed: true }
}

/** Deletes the rules of a deleted project. */
export async function deleteBoundSignInRules(
  db: Db,
  projectId: string,
  origin: Origin,
): Promise<void> {
  const bound = (await signInRules.read(db)).filter((rule) => rule.projectId === projectId)
  if (bound.length === 0) return
  const events: NewEvent[] = []
  for (const rule of bound) events.push(await removeRule(db, rule))
  await appendEvents(await lockSystemLedger(db, origin), events)
}

async function removeRule(db: Db, { id, name, role }: SignInRuleRecord): Promise<NewEvent> {
  await db.deleteFrom('sign_in_rule').where('id', '=', id).execute()
  return eventAbout('sign_in_rule.deleted', id, { name: { from: name }, role: { from: role } })
}

async function readRule(db: Db, id: string): Promise<SignInRuleRecord> {
  const rule = await signInRules.find(db, id)
  if (rule === undefined) throw notFound('sign_in_rule_not_found')
  return rule
}
