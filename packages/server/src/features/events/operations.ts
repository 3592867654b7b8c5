import { PubringError } from '../../errors.ts'
import { readCaller } from '../../kernel/access/callers.ts'
import { type Access, auditAccess, permits, requireAccess } from '../../kernel/access/grants.ts'
import type { Principal } from '../../kernel/access/principal.ts'
import { findProject } from '../../kernel/access/projects.ts'
import type { Context } from '../../kernel/context.ts'
import { type LedgerEvent, systemLedgerId } from '../../kernel/ledger/chain.ts'
import { parseId } from '../../kernel/values/ids.ts'
import { now } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import type { Event } from './contract.ts'
import type { Permission } from './stream.ts'

export function toEvent({ ledgerId: _ledgerId, ...event }: LedgerEvent): Event {
  return event
}

/**
 * The ledger of the project in the path. An admin or auditor of all projects can still read that of a deleted
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
    const readsEveryLedger = permits(principal.grants, auditAccess)
    if (!isAbsent || !readsEveryLedger || id === undefined || id === systemLedgerId) throw error
    if (!(await context.store.heads([id])).has(id)) throw error
    return id
  }
}

/** Checks whether the caller of a request may still read a ledger, and until when. */
export async function readPermission(
  { store, clock }: Context,
  { credential }: Principal,
  access: Access,
  ledgerId: string,
): Promise<Permission> {
  try {
    const { grants, expireTime, voucher } = await readCaller(store, credential, now(clock))
    requireAccess(grants, access, ledgerId)
    // Such an API key ends with a key of the project, of which a stream learns too late.
    if (voucher !== undefined) return 'refused'
    return present({ until: expireTime })
  } catch (error) {
    if (error instanceof PubringError) return 'refused'
    throw error
  }
}
