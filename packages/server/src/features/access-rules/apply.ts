import { PubringError } from '../../errors.ts'
import { requireRecentSignIn } from '../../kernel/access/authorization.ts'
import type { Caller } from '../../kernel/access/callers.ts'
import { includesRole } from '../../kernel/access/grants.ts'
import { isPermanentAdmin, requireAccessLeft } from '../../kernel/access/remaining.ts'
import { seenPeople } from '../../kernel/access/seen-people.ts'
import type {
  Origin,
  Outcome,
  RecordChange,
  RecordUpdate,
  Transaction,
} from '../../kernel/changes.ts'
import { recordEntityTag, requireIfMatch } from '../../kernel/entity-tags.ts'
import { notFound } from '../../kernel/faults.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import { requireUncontradicted } from '../../kernel/ledger/contradictions.ts'
import {
  appendEvents,
  type LockedLedger,
  lockExchangeLedger,
  lockSystemLedger,
} from '../../kernel/ledger/locked-ledger.ts'
import { recordWriter } from '../../kernel/ledger/record-writer.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { latest } from '../../kernel/values/times.ts'
import { requireProject } from '../projects/apply.ts'
import type { AccessRuleCreation } from './changes.ts'
import type { AccessRuleUpdate } from './contract.ts'
import { patchAccessRule, toAccessRule } from './operations.ts'
import { grantsOf } from './people.ts'
import { isForPeople, isForWorkloads, readPeopleRules } from './reads.ts'
import { type AccessRuleRecord, accessRules, accessRuleTable, accessRuleToRow } from './stored.ts'

const write = recordWriter(accessRuleTable, accessRules, accessRuleToRow)

/** As for API keys, no rule outlives its project. */
export async function createAccessRule(
  tx: Transaction,
  { rule, origin }: AccessRuleCreation,
): Promise<Outcome<AccessRuleRecord>> {
  const { db } = tx
  const ledger = await lockSystemLedger(tx, origin)
  requirePermanent(ledger.caller)
  if (rule.projectId !== undefined) await requireProject(db, rule.projectId)
  await appendEvents(ledger, [await write(db, { verb: 'created', before: undefined, after: rule })])
  return { result: rule, changed: true }
}

/** Deletes the API keys that were exchanged under the rule, unless only its name changes. */
export async function updateAccessRule(
  tx: Transaction,
  change: RecordUpdate<AccessRuleUpdate>,
): Promise<Outcome<AccessRuleRecord>> {
  const { db } = tx
  const { id, patch, ifMatch, origin } = change
  const { exchanges, ledger, rule: before } = await lockRule(tx, id, origin)
  requireIfMatch(ifMatch, recordEntityTag(toAccessRule(before)), 'access rule')
  requireUncontradicted('access rule', before)
  const patched = patchAccessRule(before, patch)
  const after = { ...patched, updateTime: latest(origin.time, before.updateTime) }
  const changes = accessRules.changes(before, after)
  const changed = Object.keys(changes).filter((name) => name !== 'state')
  if (changed.length === 0) return { result: before, changed: false }
  const changesRights = changed.some((name) => name !== 'name')
  const isDeactivation = changed.every((name) => name === 'name' || name === 'active')
  if (changesRights && !(isDeactivation && !patched.enabled)) {
    requirePermanent(ledger.caller)
  }
  if (!changed.every((name) => narrows(name, before, after))) requireRecentSignIn(ledger)
  const updated = await write(db, { verb: 'updated', before, after })
  if (exchanges !== undefined && changesRights) await endExchangedKeys(exchanges, before)
  await appendEvents(ledger, [updated])
  await requireAccessLeft(tx, ledger, await makesAdmin(tx, [before], change), change)
  return { result: after, changed: true }
}

export async function deleteAccessRule(
  tx: Transaction,
  change: RecordChange,
): Promise<Outcome<undefined>> {
  const { id, ifMatch, origin } = change
  const { exchanges, ledger, rule } = await lockRule(tx, id, origin)
  requireIfMatch(ifMatch, recordEntityTag(toAccessRule(rule)), 'access rule')
  if (exchanges !== undefined) await endExchangedKeys(exchanges, rule)
  await appendEvents(ledger, [await remove(tx.db, rule)])
  await requireAccessLeft(tx, ledger, await makesAdmin(tx, [rule], change), change)
  return { result: undefined, changed: true }
}

type AccessChange = Pick<RecordChange, 'origin' | 'provider'>

/** Whether a rule makes a permanent admin of somebody. */
export async function hasPermanentAdmin(tx: Transaction, change: AccessChange): Promise<boolean> {
  return makesAdmin(tx, await readPeopleRules(tx.db, { isLocked: false }), change)
}

/**
 * Whether one of the rules makes a permanent admin of somebody who has signed in lately, since a rule that
 * nobody meets may have a typo, and who can still sign in.
 */
async function makesAdmin(
  tx: Transaction,
  rules: readonly AccessRuleRecord[],
  { origin, provider }: AccessChange,
): Promise<boolean> {
  const admins = rules
    .filter(isForPeople)
    .filter((rule) => rule.issuer === provider && isPermanentAdmin(rule))
  const people = admins.length === 0 ? [] : await seenPeople(tx.hooks, tx.db, origin.time)
  return people.some((person) => grantsOf(person, admins).length > 0)
}

/** Deletes the rules of a deleted project. */
export async function deleteBoundAccessRules(
  { db }: Transaction,
  projectId: string,
): Promise<NewEvent[]> {
  const bound = (await accessRules.read(db)).filter((rule) => rule.projectId === projectId)
  const events: NewEvent[] = []
  for (const rule of bound) events.push(await remove(db, rule))
  return events
}

async function remove(db: Db, { id, name, role }: AccessRuleRecord): Promise<NewEvent> {
  await db.deleteFrom('access_rule').where('id', '=', id).execute()
  await deleteExchangedKeys(db, id)
  return accessRules.event('deleted', id, { name: { from: name }, role: { from: role } })
}

async function deleteExchangedKeys(db: Db, ruleId: string): Promise<void> {
  await db.deleteFrom('api_key').where('rule_id', '=', ruleId).execute()
}

/**
 * Deletes the API keys that were exchanged under the rule. The event in the ledger of their exchanges is
 * contradicted by a row that is put back.
 */
async function endExchangedKeys(
  exchanges: LockedLedger,
  { id, name }: AccessRuleRecord,
): Promise<void> {
  await deleteExchangedKeys(exchanges.db, id)
  const ended = accessRules.event('keys_ended', id, { name: { from: name } })
  await appendEvents(exchanges, [ended])
}

/**
 * The rule, under the locks of the system's ledger and, for workloads, of that of its exchanges, which is
 * locked first, as everywhere. No exchange in progress can then add an API key.
 */
async function lockRule(tx: Transaction, id: string, origin: Origin) {
  const { db } = tx
  const found = await accessRules.find(db, id)
  const hasExchanges = found !== undefined && isForWorkloads(found)
  const exchanges = hasExchanges ? await lockExchangeLedger(tx, found, origin) : undefined
  const ledger = await lockSystemLedger(tx, origin)
  const rule = await accessRules.find(db, id)
  if (found === undefined || rule === undefined) throw notFound('access_rule_not_found')
  return { exchanges, ledger, rule }
}

/**
 * Throws `insufficient_lifetime` if an API key that expires would give rights by a rule, which has no end.
 * People who sign in are not bound to the end of a session.
 */
function requirePermanent(caller: Caller | undefined): void {
  const end = caller?.apiKey?.expireTime
  if (end === undefined) return
  throw new PubringError(
    'insufficient_lifetime',
    `Your API key expires at ${end}, and access rules have no end, so you can only deactivate, rename and delete them. Use an admin API key that does not expire, or sign in.`,
  )
}

/**
 * Whether the change of the member gives no right, and takes none from people: to sign everyone else out
 * would leave a thief alone.
 */
function narrows(member: string, before: AccessRuleRecord, after: AccessRuleRecord): boolean {
  if (member === 'name') return true
  if (!(isForWorkloads(before) && isForWorkloads(after))) return false
  if (member === 'active') return !after.enabled
  if (member === 'role') return includesRole(before.role, after.role)
  if (member === 'singleUse') return after.singleUse
  if (member === 'maxLifetime') return after.maxLifetime < before.maxLifetime
  if (member !== 'conditions') return false
  const kept = Object.entries(before.conditions)
  return kept.every(([claim, value]) => after.conditions[claim] === value)
}
