import { PubringError } from '../../errors.ts'
import { type Access, requireAccess } from '../../kernel/access/grants.ts'
import type { Principal } from '../../kernel/access/principal.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import type { LedgerEvent } from '../../kernel/ledger/chain.ts'
import { now } from '../../kernel/values/times.ts'
import { present } from '../../runtime/present.ts'
import type { Event } from './contract.ts'

export function toEvent({ ledgerId: _ledgerId, subject, ...event }: LedgerEvent): Event {
  // The contract lists the kinds of subjects of all features.
  const type = subject.type as Event['subject']['type']
  return { ...event, subject: { type, id: subject.id } }
}

/** Whether a reader may continue, and until when (ISO 8601) unless its API key changes. */
export type Permission = { until?: string } | 'refused'

/** Checks whether the caller of a request may still read a ledger, and until when. */
export async function readPermission(
  { store, clock, readCaller }: Kernel,
  { credential }: Principal,
  access: Access,
  ledgerId: string,
): Promise<Permission> {
  const look = { db: store.reader, time: now(clock), isLocked: false }
  try {
    const { grants, expireTime, voucher } = await readCaller(look, credential)
    requireAccess(grants, access, ledgerId)
    // Such an API key ends with a key of the project, of which a stream learns too late.
    if (voucher !== undefined) return 'refused'
    return present({ until: expireTime })
  } catch (error) {
    if (error instanceof PubringError) return 'refused'
    throw error
  }
}
