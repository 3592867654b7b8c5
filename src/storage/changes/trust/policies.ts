import { requireRecentSignIn } from '../../../core/access/recent-sign-in.ts'
import { requirePermanent } from '../../../core/api-keys/lifetime.ts'
import { recordEntityTag, requireIfMatch } from '../../../core/entity-tags.ts'
import { notFound } from '../../../core/faults.ts'
import type { ChangeOf, Origin } from '../../../core/ledger/changes.ts'
import { recordedChanges } from '../../../core/ledger/subjects.ts'
import type { TrustPolicyRecord } from '../../../core/records.ts'
import { latest } from '../../../core/times.ts'
import { patchTrustPolicy, toTrustPolicy } from '../../../core/trust/policies.ts'
import { requireUncontradicted, trustPolicies } from '../../reads/last-events.ts'
import { trustPolicyToRow } from '../../row-mapping.ts'
import type { Db } from '../../schema.ts'
import { requireProject } from '../api-keys.ts'
import { appendEvents, eventAbout, type LockedLedger, lockSystemLedger } from '../ledger.ts'
import type { Outcome } from '../outcome.ts'

/** As for API keys, no policy outlives its project. */
export async function createTrustPolicy(
  db: Db,
  { policy, origin }: ChangeOf<'trust_policy.create'>,
): Promise<Outcome<TrustPolicyRecord>> {
  const ledger = await lockSystemLedger(db, origin)
  requireGiver(ledger, origin, policy)
  if (policy.projectId !== undefined) await requireProject(db, policy.projectId)
  await db.insertInto('trust_policy').values(trustPolicyToRow(policy)).execute()
  const changes = recordedChanges('trust_policy', undefined, policy)
  await appendEvents(db, ledger, origin, [eventAbout('trust_policy.created', policy.id, changes)])
  return { result: policy, changed: true }
}

/** Deletes the API keys that were exchanged under the policy, unless only its name changes. */
export async function updateTrustPolicy(
  db: Db,
  { id, patch, ifMatch, origin }: ChangeOf<'trust_policy.update'>,
): Promise<Outcome<TrustPolicyRecord>> {
  const ledger = await lockSystemLedger(db, origin)
  const before = await readPolicy(db, id)
  requireIfMatch(ifMatch, recordEntityTag(toTrustPolicy(before)), 'trust policy')
  requireUncontradicted('trust policy', before)
  const patched = patchTrustPolicy(before, patch)
  const after = { ...patched, updateTime: latest(origin.time, before.updateTime) }
  const changes = recordedChanges('trust_policy', before, after)
  const changed = Object.keys(changes).filter((name) => name !== 'state')
  if (changed.length === 0) return { result: before, changed: false }
  const endsKeys = changed.some((name) => name !== 'name')
  const isDeactivation = changed.every((name) => name === 'name' || name === 'active')
  if (endsKeys && !(isDeactivation && !patched.enabled)) requireGiver(ledger, origin, patched)
  const { last_exchange_time: _lastExchangeTime, ...row } = trustPolicyToRow(after)
  await db.updateTable('trust_policy').set(row).where('id', '=', id).execute()
  // After the row is locked, so that an exchange in progress cannot add one.
  if (endsKeys) await deleteExchangedKeys(db, id)
  await appendEvents(db, ledger, origin, [eventAbout('trust_policy.updated', id, changes)])
  return { result: after, changed: true }
}

export async function deleteTrustPolicy(
  db: Db,
  { id, ifMatch, origin }: ChangeOf<'trust_policy.delete'>,
): Promise<Outcome<undefined>> {
  const ledger = await lockSystemLedger(db, origin)
  const policy = await readPolicy(db, id)
  requireIfMatch(ifMatch, recordEntityTag(toTrustPolicy(policy)), 'trust policy')
  await remove(db, ledger, origin, policy)
  return { result: undefined, changed: true }
}

/** Deletes the policies of a deleted project. */
export async function deleteBoundTrustPolicies(
  db: Db,
  projectId: string,
  origin: Origin,
): Promise<void> {
  const bound = (await trustPolicies.read(db)).filter((policy) => policy.projectId === projectId)
  for (const policy of bound) await remove(db, await lockSystemLedger(db, origin), origin, policy)
}

async function remove(
  db: Db,
  ledger: LockedLedger,
  origin: Origin,
  { id, name }: TrustPolicyRecord,
): Promise<void> {
  await db.deleteFrom('trust_policy').where('id', '=', id).execute()
  await deleteExchangedKeys(db, id)
  const changes = { name: { from: name } }
  await appendEvents(db, ledger, origin, [eventAbout('trust_policy.deleted', id, changes)])
}

async function deleteExchangedKeys(db: Db, policyId: string): Promise<void> {
  await db.deleteFrom('exchanged_key').where('policy_id', '=', policyId).execute()
}

/** Rights without an end, and for all projects, take more than a session that was left open. */
function requireGiver(
  { caller }: LockedLedger,
  origin: Origin,
  { projectId }: TrustPolicyRecord,
): void {
  requirePermanent(caller?.apiKey, 'trust policy')
  if (projectId === undefined) requireRecentSignIn(caller, origin)
}

async function readPolicy(db: Db, id: string): Promise<TrustPolicyRecord> {
  const policy = await trustPolicies.find(db, id)
  if (policy === undefined) throw notFound('trust_policy_not_found')
  return policy
}
