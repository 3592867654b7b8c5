import { requireRecentSignIn } from '../../kernel/access/authorization.ts'
import type { Caller } from '../../kernel/access/callers.ts'
import { auditAccess, permits, requireAccess, unboundAdmin } from '../../kernel/access/grants.ts'
import { seenSince } from '../../kernel/access/seen-people.ts'
import type { Outcome, RecordChange, Transaction } from '../../kernel/changes.ts'
import { notFound } from '../../kernel/faults.ts'
import type { NewEvent } from '../../kernel/ledger/chain.ts'
import { requireRate } from '../../kernel/ledger/event-rates.ts'
import {
  appendChange,
  appendEvents,
  type LockedLedger,
  lockSystemLedger,
} from '../../kernel/ledger/locked-ledger.ts'
import { firstUse } from '../../kernel/ledger/token-uses.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { exists, inChunks } from '../../kernel/storage/statements.ts'
import type { SessionCreation, SessionEnd, SessionEndReason } from './changes.ts'
import { failure } from './claims.ts'
import { readSessionsOf } from './reads.ts'
import {
  isSamePerson,
  type PersonRecord,
  people,
  personToRow,
  type SessionRecord,
  sessions,
  sessionToRow,
} from './stored.ts'

/**
 * Live sessions in all, of the API keys that are bound to one project, and of one person or API key. Beyond
 * that, those that were not used longest end.
 */
const maxSessions = 10_000
const maxSessionsOfProject = 1_000
const maxSessionsOfOne = 20

/**
 * Creates the session, and ends what it replaces and what is beyond the limits. Throws
 * `rate_limited` for many within a minute. Logins of the command line, which a thief of a session may approve,
 * count apart: they keep nobody from signing in.
 */
export async function createSession(
  tx: Transaction,
  { session: submitted, person, replaces, origin }: SessionCreation,
): Promise<Outcome<SessionRecord>> {
  const { db } = tx
  const ledger = await lockSystemLedger(tx, origin)
  await requireRate(ledger, {
    type: 'session.created',
    did: 'signed in',
    isCounted: ({ changes }) =>
      (changes?.approvedBy === undefined) === (submitted.approvedBy === undefined),
  })
  const { session, appeared } = await withPerson(db, submitted, person)
  const events = [
    ...appeared,
    ...(replaces === undefined
      ? []
      : await endWithApproved(db, [replaces], 'replaced', session.firstId)),
    ...(await endByIds(db, await readExcess(db, session), 'limit')),
    sessions.eventOf('created', session),
  ]
  await db.insertInto('session').values(sessionToRow(session)).execute()
  await appendEvents(ledger, events)
  return { result: session, changed: true }
}

/**
 * Updates the person with this identity, or creates them, of which there is an event. Their id is that of
 * the first sign-in. Forgets the claims of those who have not signed in lately.
 */
async function withPerson(
  db: Db,
  session: SessionRecord,
  person: PersonRecord | undefined,
): Promise<{ session: SessionRecord; appeared: NewEvent[] }> {
  if (person === undefined || session.person === undefined) return { session, appeared: [] }
  const { name, email, claims, last_sign_in_time, ...row } = personToRow(person)
  const latest = { name, email, claims, last_sign_in_time }
  const { id } = await db
    .insertInto('person')
    .values({ ...row, ...latest })
    .onConflict((conflict) => conflict.columns(['subject', 'issuer']).doUpdateSet(latest))
    .returning('id')
    .executeTakeFirstOrThrow()
  await db
    .updateTable('person')
    .set({ claims: null })
    .where('last_sign_in_time', '<', seenSince(session.createTime))
    .where('claims', 'is not', null)
    .execute()
  return {
    session: { ...session, person: { ...session.person, id } },
    appeared: id === person.id ? [people.eventOf('created', person)] : [],
  }
}

/** The sessions that must end, so that there is a place for this one. */
async function readExcess(db: Db, { person, apiKeyId }: SessionRecord): Promise<string[]> {
  const all = db.selectFrom('session').select('id').orderBy('last_use_time', 'desc')
  const own =
    person === undefined
      ? all.where('api_key_id', '=', apiKeyId ?? '')
      : all.where('subject', '=', person.subject).where('issuer', '=', person.issuer)
  const project = db
    .selectFrom('api_key')
    .select('project_id')
    .where('id', '=', apiKeyId ?? '')
  const ofProject = all.where('api_key_id', 'in', (select) =>
    select
      .selectFrom('api_key')
      .select('id')
      .where('rule_id', 'is', null)
      .where('project_id', '=', project),
  )
  // SQLite has no offset without a limit.
  const beyond = (limit: number, sessions: typeof all) =>
    sessions
      .offset(limit - 1)
      .limit(100)
      .execute()
  const rows = [
    await beyond(maxSessionsOfOne, own),
    await beyond(maxSessionsOfProject, ofProject),
    await beyond(maxSessions, all),
  ]
  return [...new Set(rows.flat().map(({ id }) => id))]
}

/** Deletes the sessions that exist; returns an event for each. */
async function endByIds(
  db: Db,
  ids: readonly string[],
  reason: SessionEndReason,
): Promise<NewEvent[]> {
  return (await deleteByIds(db, ids)).map(({ id }) => sessionEnded(id, reason))
}

function deleteByIds(db: Db, ids: readonly string[]) {
  return inChunks(ids, (some) =>
    db.deleteFrom('session').where('id', 'in', some).returning(['id', 'first_id']).execute(),
  )
}

/**
 * Ends sessions as `endByIds` does, and the sessions of the command line that they approved. The latter
 * stay if the session that replaces an approver goes on from the same first one.
 */
async function endWithApproved(
  db: Db,
  ids: readonly string[],
  reason: SessionEndReason,
  continuedId?: string,
): Promise<NewEvent[]> {
  const rows = await deleteByIds(db, ids)
  const approvers = rows
    .map(({ id, first_id }) => first_id ?? id)
    .filter((id) => id !== continuedId)
  const approved = await inChunks(approvers, (some) =>
    db.deleteFrom('session').where('approved_by', 'in', some).returning('id').execute(),
  )
  return [
    ...rows.map(({ id }) => sessionEnded(id, reason)),
    ...approved.map(({ id }) => sessionEnded(id, 'approver_ended')),
  ]
}

function sessionEnded(id: string, reason: SessionEndReason): NewEvent {
  return sessions.event('ended', id, { reason: { to: reason } })
}

/** Ends the sessions of a deleted API key; returns an event for each. */
export async function endSessionsOfApiKey(
  { db }: Transaction,
  apiKeyId: string,
): Promise<NewEvent[]> {
  const query = db.deleteFrom('session').where('api_key_id', '=', apiKeyId)
  const rows = await query.returning('id').execute()
  return rows.map(({ id }) => sessionEnded(id, 'api_key_deleted'))
}

/**
 * Throws `session_not_found` unless the caller may end all of them, and `sign_in_failed` for a logout
 * token that was used before. Returns how many have ended.
 */
export async function endSessions(
  tx: Transaction,
  { ended, reason, once, origin }: SessionEnd,
): Promise<Outcome<number>> {
  const { db } = tx
  const ledger = await lockSystemLedger(tx, origin)
  const use = once === undefined ? [] : await firstUse(ledger, once)
  if (use === undefined) throw failure('The logout token was used before.')
  if ('ids' in ended) await requireEndable(db, ended.ids, ledger)
  const ids = 'ids' in ended ? ended.ids : await readEndable(db, ended.personId, ledger)
  const isAlone = 'personId' in ended || reason === 'expired'
  const events = await (isAlone ? endByIds : endWithApproved)(db, ids, reason)
  const all = [use, events].flat()
  if (all.length > 0) await appendEvents(ledger, all)
  return { result: events.length, changed: all.length > 0 }
}

/** Whether the session is of the person, or of the API key, that requests the change. */
function isHolder({ session, apiKey }: Caller, one: SessionRecord): boolean {
  if (one.person !== undefined) return isSamePerson(one.person, session?.person)
  return one.apiKeyId === apiKey?.id
}

/** The provider and Pubring itself may end sessions that are gone already. */
async function requireEndable(db: Db, ids: readonly string[], ledger: LockedLedger): Promise<void> {
  const { caller } = ledger
  if (caller === undefined) return
  const found = await sessions.readUnchecked(db, (all) => all.where('id', 'in', ids))
  const hasOthers = !found.every((session) => isHolder(caller, session))
  const isVisible = !hasOthers || permits(caller.grants, auditAccess)
  if (found.length < ids.length || !isVisible) throw notFound('session_not_found')
  if (!hasOthers) return
  // An auditor sees the sessions of others, but does not end them.
  requireAccess(caller.grants, unboundAdmin)
  requireRecentSignIn(ledger)
}

/** The sessions of a person. To end those of another one, the caller must have signed in recently. */
async function readEndable(db: Db, personId: string, ledger: LockedLedger): Promise<string[]> {
  const { caller } = ledger
  const found = await readSessionsOf(db, personId)
  const isOwn = caller !== undefined && found.every((session) => isHolder(caller, session))
  if (!isOwn) requireRecentSignIn(ledger)
  return found.map(({ id }) => id)
}

/** Deletes a person and ends their sessions; the ledger keeps issuer and subject. */
export async function deletePerson(
  tx: Transaction,
  { id, origin }: RecordChange,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const ledger = await lockSystemLedger(tx, origin)
  const found = await readSessionsOf(db, id)
  const ids = found.map((session) => session.id)
  const events = await endByIds(db, ids, 'person_deleted')
  const query = db.deleteFrom('person').where('id', '=', id).returning('id')
  if (!(await exists(query))) throw notFound('person_not_found')
  return appendChange(ledger, ...events, people.event('deleted', id, {}))
}
