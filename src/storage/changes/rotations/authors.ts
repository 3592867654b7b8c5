import { sql } from 'kysely'
import {
  callerOf,
  grantOf,
  invalidApiKey,
  invalidSession,
  rulesFor,
} from '../../../core/access/callers.ts'
import { permits, requireAccess } from '../../../core/access/grants.ts'
import { lacksRecentSignIn } from '../../../core/access/recent-sign-in.ts'
import { systemLedgerId } from '../../../core/ledger/chain.ts'
import type { RotationAuthor } from '../../../core/records.ts'
import { isoTime, latest } from '../../../core/times.ts'
import { trustPolicies } from '../../reads/last-events.ts'
import type { Db } from '../../schema.ts'
import { locked } from '../../statements.ts'
import { lockedReads } from '../authorization.ts'
import type { LockedKeySet } from '../keys.ts'

/** Of the same steps by hand. */
const access = { role: 'writer' } as const

/** The author of what the caller schedules; undefined for the system. */
export async function authorOf(
  db: Db,
  { ledger: { caller }, origin }: LockedKeySet,
  projectId: string,
): Promise<RotationAuthor | undefined> {
  if (caller === undefined) return undefined
  const { apiKey, session, workload } = caller
  const now = {
    revision: await systemRevision(db),
    ...(lacksRecentSignIn(caller, origin) ? { lacksRecentSignIn: true as const } : {}),
  }
  if (workload !== undefined) {
    const id = workload.policyId
    return { type: 'trust_policy', id, grants: [id], ...now }
  }
  if (apiKey !== undefined) return { type: 'api_key', id: apiKey.id, grants: [], ...now }
  const { person } = session ?? {}
  if (person === undefined) throw new Error('a caller without a holder')
  const rules = rulesFor(person, await lockedReads(db).signInRules())
  const giving = rules.filter((rule) => permits([grantOf(rule)], access, projectId))
  return { type: 'person', id: person.id, grants: giving.map(({ id }) => id), ...now }
}

async function systemRevision(db: Db): Promise<number> {
  return (await systemLedger(db).executeTakeFirstOrThrow()).revision
}

const systemLedger = (db: Db) =>
  db.selectFrom('ledger').select('revision').where('project_id', '=', systemLedgerId)

/**
 * Checks that the author could still take the step by hand: by the API key as it is now; as a person
 * by a sign-in rule, or as a workload by the trust policy, that gave the right when they scheduled it
 * and has not changed since. Signing out, or a session or API key of minutes that has run out, takes
 * nothing away. Throws `invalid_api_key`, `invalid_session` or `insufficient_role`.
 */
export async function requireAuthor(
  db: Db,
  author: RotationAuthor,
  projectId: string,
  time: string,
): Promise<void> {
  const { type, id, grants } = author
  // Its events must not change before the step is committed.
  await locked(db, systemLedger(db)).executeTakeFirstOrThrow()
  // Waiting for locks may have taken long.
  const checkTime = latest(time, isoTime(Date.now()))
  if (type === 'api_key') {
    const apiKey = await lockedReads(db).findApiKey(id)
    requireAccess(callerOf(apiKey, checkTime).grants, access, projectId)
    return
  }
  const changed = await changedSince(db, author)
  if (type === 'trust_policy') {
    const policy = await trustPolicies.lock(db, id)
    if (!policy?.enabled || policy.contradicted || changed.has(id)) throw invalidApiKey()
    requireAccess([grantOf(policy)], access, projectId)
    return
  }
  if (changed.has(id) || (await wereSessionsEnded(db, author))) throw invalidSession()
  const rules = (await lockedReads(db).signInRules()).filter(
    (rule) =>
      grants.includes(rule.id) && rule.enabled && !rule.contradicted && !changed.has(rule.id),
  )
  requireAccess(rules.map(grantOf), access, projectId)
}

/** Which of them has an event since: a rule, the policy, or the person who was erased or signed out. */
async function changedSince(
  db: Db,
  { id, grants, revision }: RotationAuthor,
): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('event')
    .select('subject_id')
    .where('project_id', '=', systemLedgerId)
    .where('subject_id', 'in', [id, ...grants])
    .where('revision', '>', revision)
    .execute()
  return new Set(rows.map((row) => row.subject_id))
}

/** Whether a session of the person was revoked since, or ended by the provider. */
async function wereSessionsEnded(db: Db, { id, revision }: RotationAuthor): Promise<boolean> {
  const row = await db
    .selectFrom('event as ended')
    .innerJoin('event as created', 'created.subject_id', 'ended.subject_id')
    .select('ended.revision')
    .where('ended.project_id', '=', systemLedgerId)
    .where('ended.revision', '>', revision)
    .where('ended.type', '=', 'session.ended')
    .where(
      sql<boolean>`(ended.changes like '%"revoked"%' or ended.changes like '%"provider_logout"%')`,
    )
    .where('created.project_id', '=', systemLedgerId)
    .where('created.type', '=', 'session.created')
    .where('created.changes', 'like', `%"${id}"%`)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
