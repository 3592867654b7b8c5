import type { Event } from '../../contract/events.ts'
import { PubringError } from '../../errors.ts'
import { findProject, type Principal, requireAccess, requireActiveApiKey } from '../access.ts'
import type { Context } from '../context.ts'
import { parseId } from '../ids.ts'
import type { Access } from '../records.ts'
import { now } from '../times.ts'
import { type LedgerEvent, systemLedgerId } from './chain.ts'
import type { Permission } from './stream.ts'

export function toEvent({ ledgerId: _ledgerId, ...event }: LedgerEvent): Event {
  return event
}

/**
 * The ledger of the project in the path. An admin of all projects can still read that of a deleted
 * project, by its id; to other callers the project does not exist.
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
    const isAdminOfAll = principal.role === 'admin' && principal.projectId === undefined
    if (!isAbsent || !isAdminOfAll || id === undefined || id === systemLedgerId) throw error
    if (!(await context.store.heads([id])).has(id)) throw error
    return id
  }
}

/** Checks whether the API key of a request still permits it, and until when. */
export async function readPermission(
  { store, clock }: Context,
  { apiKeyId }: Principal,
  access: Access,
): Promise<Permission> {
  const apiKey = await store.findApiKey(apiKeyId)
  try {
    requireActiveApiKey(apiKey, now(clock))
    requireAccess(apiKey, access)
    return apiKey.expireTime === undefined ? {} : { until: apiKey.expireTime }
  } catch (error) {
    if (error instanceof PubringError) return 'refused'
    throw error
  }
}
