import type { Event } from '../../contract/events.ts'
import { PubringError } from '../../errors.ts'
import {
  type Access,
  findProject,
  isApiKeyActive,
  type Principal,
  requireAccess,
} from '../access.ts'
import type { Context } from '../context.ts'
import { parseId } from '../ids.ts'
import { now } from '../times.ts'
import { type LedgerEvent, systemLedgerId } from './chain.ts'
import type { Permission } from './stream.ts'

/** A page of a ledger's events after a revision, in order. */
export async function listEvents(
  context: Context,
  ledgerId: string,
  page: { after: number; limit: number },
): Promise<Event[]> {
  return (await context.store.events(ledgerId, page)).map(toEvent)
}

export function toEvent(event: LedgerEvent): Event {
  const { revision, type, time, actor, subject, changes, requestId, hash } = event
  return {
    revision,
    type,
    time,
    actor,
    subject,
    ...(changes === undefined ? {} : { changes }),
    requestId,
    hash,
  }
}

/**
 * The ledger of the project that the path names. That of a deleted project stays readable by id to
 * an admin of all projects; for everybody else the project is not there.
 */
export async function findLedger(
  context: Context,
  principal: Principal,
  idOrName: string,
): Promise<string> {
  try {
    return (await findProject(context, principal, idOrName)).id
  } catch (error) {
    const id = parseId(idOrName)
    const isAbsent = error instanceof PubringError && error.code === 'project_not_found'
    const mayLookBack = principal.role === 'admin' && principal.projectId === undefined
    if (!isAbsent || !mayLookBack || id === undefined || id === systemLedgerId) throw error
    const known = await context.store.heads([id])
    if (!known.has(id)) throw error
    return id
  }
}

/** Whether the API key behind a request would still be let in, and until when. */
export async function readPermission(
  context: Context,
  principal: Principal,
  access: Access,
): Promise<Permission> {
  const record = await context.store.findApiKey(principal.apiKeyId)
  if (record === undefined || !isApiKeyActive(record, now(context.clock))) return 'refused'
  if (record.projectId !== principal.projectId) return 'refused'
  try {
    requireAccess({ ...principal, role: record.role }, access)
  } catch (error) {
    if (error instanceof PubringError && error.code === 'insufficient_role') return 'refused'
    throw error
  }
  return record.expireTime === undefined ? {} : { until: record.expireTime }
}
