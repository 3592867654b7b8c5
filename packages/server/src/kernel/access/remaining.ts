import { PubringError } from '../../errors.ts'
import type { RecordChange, Transaction } from '../changes.ts'
import { hook } from '../hooks.ts'
import type { LockedLedger } from '../ledger/locked-ledger.ts'
import type { Contradictable } from '../records.ts'
import { now } from '../values/times.ts'
import type { Caller } from './callers.ts'
import { type Grant, includesRole } from './grants.ts'

/** An API key or an access rule, as far as both give access. */
interface GivenAccess extends Grant, Contradictable {
  enabled: boolean
  expireTime?: string
}

/** Whether it makes those who have it admins of all projects, without an end. */
export function isPermanentAdmin(access: GivenAccess): boolean {
  const { role, projectId, enabled, expireTime, contradicted } = access
  const isUsable = enabled && !contradicted && expireTime === undefined
  return role === 'admin' && projectId === undefined && isUsable
}

/** Whether the feature has a permanent admin in the transaction, among the people of the provider too. */
export const permanentAdmins = hook<
  [tx: Transaction, change: Pick<RecordChange, 'origin' | 'provider'>],
  Promise<boolean>
>()

/**
 * Refuses a change of an API key or an access rule that nobody could undo. Throws `last_admin` if it took
 * the last permanent admin, and `own_access` if the caller lost access without having confirmed it. Called
 * after the events of the change, since rows that differ from their ledger count for nothing. `hadAdmin`:
 * whether the record made somebody a permanent admin before.
 */
export async function requireAccessLeft(
  tx: Transaction,
  { caller, origin }: LockedLedger,
  hadAdmin: boolean,
  change: RecordChange,
): Promise<void> {
  if (hadAdmin) {
    const left = await tx.hooks.run(permanentAdmins, tx, change)
    if (!left.includes(true)) throw lastAdmin()
  }
  if (change.confirm === 'self' || caller === undefined) return
  if (keepsAccess(caller, await again(tx, origin))) return
  throw new PubringError(
    'own_access',
    'This takes access that you use yourself. Send confirm=self in the query to do it all the same.',
  )
}

function lastAdmin(): PubringError {
  return new PubringError(
    'last_admin',
    'Nobody would be admin of all projects for good: no other API key with the role admin has neither a project nor an end, and nobody who signed in within the last 30 days meets another admin rule for all projects. Create such an API key, or sign in by such a rule, first.',
  )
}

/** The caller after the change; undefined if their credential is not valid any more. */
async function again(
  { db, clock, readCaller }: Transaction,
  { authorization }: LockedLedger['origin'],
): Promise<Caller | undefined> {
  if (authorization === undefined) return undefined
  const look = { db, time: now(clock), isLocked: false }
  return readCaller(look, authorization.credential).catch((error) => {
    if (error instanceof PubringError && error.code.startsWith('invalid_')) return undefined
    throw error
  })
}

function keepsAccess(before: Caller, after: Caller | undefined): boolean {
  if (after === undefined || before.apiKey?.expireTime !== after.apiKey?.expireTime) return false
  return before.grants.every((grant) => isCovered(grant, after.grants))
}

/** Whether the grants permit everything that the one does. */
export function isCovered({ role, projectId }: Grant, grants: readonly Grant[]): boolean {
  return grants.some(
    (each) =>
      (each.projectId === undefined || each.projectId === projectId) &&
      includesRole(each.role, role),
  )
}
