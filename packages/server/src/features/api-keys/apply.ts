import { invalidField, PubringError } from '../../errors.ts'
import { requireRecentSignIn } from '../../kernel/access/authorization.ts'
import type { Caller, CallerApiKey } from '../../kernel/access/callers.ts'
import {
  includesRole,
  projectsWith,
  requireAccess,
  unboundAdmin,
} from '../../kernel/access/grants.ts'
import { isPermanentAdmin, requireAccessLeft } from '../../kernel/access/remaining.ts'
import type { Outcome, RecordChange, RecordUpdate, Transaction } from '../../kernel/changes.ts'
import { recordEntityTag, requireIfMatch } from '../../kernel/entity-tags.ts'
import { notFound } from '../../kernel/faults.ts'
import type { EventChanges, NewEvent } from '../../kernel/ledger/chain.ts'
import { requireUncontradicted } from '../../kernel/ledger/contradictions.ts'
import { requireRate } from '../../kernel/ledger/event-rates.ts'
import {
  appendEvents,
  type LockedLedger,
  lockExchangeLedger,
  lockSystemLedger,
} from '../../kernel/ledger/locked-ledger.ts'
import { recordWriter } from '../../kernel/ledger/record-writer.ts'
import type { Db } from '../../kernel/storage/schema.ts'
import { insertion } from '../../kernel/storage/statements.ts'
import { isoTime, requireValidExpiry } from '../../kernel/values/times.ts'
import { requireProject } from '../projects/apply.ts'
import { type ApiKeyCreation, type ApiKeyIssue, apiKeyDeleted } from './changes.ts'
import type { ApiKeyUpdate } from './contract.ts'
import { changing, patchApiKey, toApiKey } from './operations.ts'
import { countApiKeys } from './reads.ts'
import { type ApiKeyRecord, apiKeys, apiKeyTable, apiKeyToRow, isManaged } from './stored.ts'

const write = recordWriter(apiKeyTable, apiKeys, apiKeyToRow)

/**
 * Idempotent by secret: returns the API key that has it already. Deleting a project takes the same
 * lock before it deletes the project's API keys, so no API key outlives its project.
 */
export async function createApiKey(
  tx: Transaction,
  { apiKey, origin, first }: ApiKeyCreation,
): Promise<Outcome<ApiKeyRecord>> {
  const { db } = tx
  const ledger = await lockSystemLedger(tx, origin)
  const [existing] = await apiKeys.readUnchecked(db, (all) =>
    first ? all.where(isManaged).orderBy('id').limit(1) : all.where('digest', '=', apiKey.digest),
  )
  if (existing !== undefined) return { result: existing, changed: false }
  requireLifetime(ledger.caller?.apiKey, undefined, apiKey)
  const { projectId } = apiKey
  const access = projectId === undefined ? unboundAdmin : changing
  if (ledger.caller !== undefined) requireAccess(ledger.caller.grants, access, projectId)
  if (projectId !== undefined) await requireRoom(db, projectId)
  const created = await write(db, { verb: 'created', before: undefined, after: apiKey })
  await appendEvents(ledger, [created])
  return { result: apiKey, changed: true }
}

export async function updateApiKey(
  tx: Transaction,
  change: RecordUpdate<ApiKeyUpdate>,
): Promise<Outcome<ApiKeyRecord>> {
  const { db } = tx
  const { id, patch, ifMatch, origin } = change
  const ledger = await lockSystemLedger(tx, origin)
  const before = await findVisible(db, id, ledger.caller)
  if (before.exchanged !== undefined) throw cannotChange()
  requireIfMatch(ifMatch, recordEntityTag(toApiKey(before, origin.time)), 'API key')
  requireUncontradicted('API key', before)
  requireValidExpiry(before, patch, origin.time)
  const after = patchApiKey(before, patch)
  const isSame = Object.keys(apiKeys.changes(before, after)).length === 0
  if (isSame) return { result: before, changed: false }
  requireLifetime(ledger.caller?.apiKey, before, after)
  if (gainedMember(before, after) !== undefined) requireRecentSignIn(ledger)
  await appendEvents(ledger, [await write(db, { verb: 'updated', before, after })])
  await requireAccessLeft(tx, ledger, isPermanentAdmin(before), change)
  return { result: after, changed: true }
}

export async function deleteApiKey(
  tx: Transaction,
  change: RecordChange,
): Promise<Outcome<undefined>> {
  const { db } = tx
  const { id, ifMatch, origin } = change
  const found = await apiKeys.find(db, id)
  // As everywhere, the ledger of a project is locked before the system's.
  const exchanges = found?.exchanged && (await lockExchangeLedger(tx, found, origin))
  const ledger = await lockSystemLedger(tx, origin)
  const apiKey = await findVisible(db, id, ledger.caller)
  requireIfMatch(ifMatch, recordEntityTag(toApiKey(apiKey, origin.time)), 'API key')
  await appendEvents(ledger, await remove(tx, apiKey))
  // There its row is compared with its last event; the system's event ends the copies of its caller.
  if (exchanges !== undefined) await appendEvents(exchanges, [deletionOf(apiKey)])
  await requireAccessLeft(tx, ledger, isPermanentAdmin(apiKey), change)
  return { result: undefined, changed: true }
}

/** Those that are bound to one project, expired ones included. */
const maxOfProject = 1_000

/** Throws `project_not_found` or `api_key_limit_reached`. */
async function requireRoom(db: Db, projectId: string): Promise<void> {
  await requireProject(db, projectId)
  if ((await countApiKeys(db, projectId)) < maxOfProject) return
  const detail = `${maxOfProject} API keys are bound to the project. Revoke those that have expired or are not used.`
  throw new PubringError('api_key_limit_reached', detail, { limit: maxOfProject })
}

/** Whether there is an API key of a permanent admin. */
export async function hasPermanentAdmin({ db }: Transaction): Promise<boolean> {
  return (await readManaged(db)).some(isPermanentAdmin)
}

/** Deletes the API keys bound to a deleted project, since they no longer give any access. */
export async function deleteBoundApiKeys(tx: Transaction, projectId: string): Promise<NewEvent[]> {
  const bound = (await readManaged(tx.db)).filter((apiKey) => apiKey.projectId === projectId)
  const events: NewEvent[] = []
  for (const apiKey of bound) events.push(...(await remove(tx, apiKey)))
  return events
}

async function remove(tx: Transaction, apiKey: ApiKeyRecord): Promise<NewEvent[]> {
  await tx.db.deleteFrom('api_key').where('id', '=', apiKey.id).execute()
  const ended = await tx.hooks.run(apiKeyDeleted, tx, apiKey.id)
  return [...ended.flat(), deletionOf(apiKey)]
}

export function deletionOf({ id, name, role }: ApiKeyRecord): NewEvent {
  return apiKeys.event('deleted', id, { name: { from: name }, role: { from: role } })
}

export async function issueApiKey(
  tx: Transaction,
  { apiKey, origin }: ApiKeyIssue,
): Promise<Outcome<undefined>> {
  const ledger = await lockExchangeLedger(tx, apiKey, origin)
  await requireRate(ledger, { type: 'token.exchanged', did: 'renewed your login' })
  await insertIssued(ledger, apiKey)
  return { result: undefined, changed: true }
}

const insertKey = insertion('api_key')

/**
 * Stores the API key, and its event in the ledger of its project: exchanges must not move the system's
 * ledger, since every cached caller is valid only while its head stays.
 */
export async function insertIssued(
  ledger: LockedLedger,
  apiKey: ApiKeyRecord,
  { claims = {}, before = [] }: { claims?: EventChanges; before?: readonly NewEvent[] } = {},
): Promise<void> {
  await insertKey(ledger.db, [apiKeyToRow(apiKey)])
  const changes = { ...apiKeys.changes(undefined, apiKey), ...claims }
  const subject = { type: 'api_key', id: apiKey.id } as const
  await appendEvents(ledger, [...before, { type: 'token.exchanged', subject, changes }])
}

/** Rows deleted by one change, which other changes wait for. */
const maxForgotten = 5_000

/** Issued API keys are listed for a day after their end. */
const keptAfterEndMs = 24 * 3_600_000

export async function forgetApiKeys(
  { db }: Transaction,
  { time }: { time: string },
): Promise<Outcome<boolean>> {
  const dayBefore = isoTime(Date.parse(time) - keptAfterEndMs)
  const ended = db
    .selectFrom('api_key')
    .select('digest')
    .where('expire_time', '<=', dayBefore)
    .where((where) => where.not(isManaged))
    .limit(maxForgotten)
  const query = db.deleteFrom('api_key').where('digest', 'in', ended)
  const { numDeletedRows } = await query.executeTakeFirstOrThrow()
  return { result: Number(numDeletedRows) === maxForgotten, changed: true }
}

function readManaged(db: Db): Promise<ApiKeyRecord[]> {
  return apiKeys.read(db, (all) => all.where(isManaged))
}

/** To an admin of single projects, the API keys of others do not exist. */
async function findVisible(db: Db, id: string, caller: Caller | undefined): Promise<ApiKeyRecord> {
  const found = await apiKeys.find(db, id)
  const projects = caller === undefined ? 'all' : projectsWith(caller.grants, changing)
  const isVisible = projects === 'all' || projects.includes(found?.projectId ?? '')
  if (found === undefined || found.sessionId !== undefined || !isVisible) {
    throw notFound('api_key_not_found')
  }
  return found
}

function cannotChange(): PubringError {
  return new PubringError(
    'invalid_request',
    'This API key was exchanged for a token, and ends by itself. It cannot be changed: revoke it, or change its access rule.',
  )
}

/**
 * Throws `insufficient_lifetime` if an API key that expires would change its own end, or give rights
 * to an API key that outlives it: its holder could then keep access after it has expired.
 * Taking rights away is permitted. A caller without an API key is the system or an operator; a new
 * API key has no `before`.
 */
function requireLifetime(
  caller: CallerApiKey | undefined,
  before: ApiKeyRecord | undefined,
  after: ApiKeyRecord,
): void {
  const end = caller?.expireTime
  if (end === undefined) return
  if (caller?.id === after.id) {
    if (after.expireTime !== end) throw ownExpiry()
    return
  }
  const gained = gainedMember(before, after)
  if (gained !== undefined && endsLater(after.expireTime, end)) throw outlives(gained, end)
}

/** The member of the request that gives rights to the API key, or gives them for longer. */
function gainedMember(
  before: ApiKeyRecord | undefined,
  after: ApiKeyRecord,
): 'expireTime' | 'role' | 'active' | undefined {
  if (before === undefined || endsLater(after.expireTime, before.expireTime)) return 'expireTime'
  if (!includesRole(before.role, after.role)) return 'role'
  return after.enabled && !before.enabled ? 'active' : undefined
}

/** Without an `expireTime` there is no end. */
function endsLater(one: string | undefined, other: string | undefined): boolean {
  return other !== undefined && (one === undefined || one > other)
}

function ownExpiry(): PubringError {
  return insufficientLifetime(
    'expireTime',
    'own_expiry',
    'An API key with an expireTime cannot change or clear it. Use another admin API key.',
  )
}

function outlives(member: string, end: string): PubringError {
  const detail =
    member === 'expireTime'
      ? `Your API key expires at ${end}, so an API key that you create or extend must expire by then: send an expireTime that is no later.`
      : `Your API key expires at ${end}, and the API key that you are changing lives longer, so you cannot give it more rights. Send an expireTime that is no later too, or use an admin API key that does not expire.`
  return insufficientLifetime(member, 'too_late', detail)
}

function insufficientLifetime(member: string, code: string, detail: string): PubringError {
  return invalidField(`/${member}`, code, detail, 'insufficient_lifetime')
}
