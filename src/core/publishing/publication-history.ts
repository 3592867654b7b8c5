import type { Store } from '../context.ts'
import { isActive } from '../expiry.ts'
import type { LedgerEvent } from '../ledger/chain.ts'

/** Events per read. Most projects publish a key with one of their first events. */
const pageSize = 100

interface KeyState {
  isCommon: boolean
  enabled: boolean
  expireTime?: string
}

/**
 * Whether a key of the project was ever in `jwks.json`, up to the revision. The ledger knows this of
 * deleted keys too, and every replica reads the same there.
 */
export async function hadPublishedKey(
  { events }: Pick<Store, 'events'>,
  projectId: string,
  revision: number,
): Promise<boolean> {
  const states = new Map<string, KeyState>()
  let after = 0
  while (after < revision) {
    const page = await events(projectId, { after, limit: pageSize })
    for (const event of page) {
      if (event.revision > revision) return false
      if (event.subject.type === 'key' && publishesKey(states, event)) return true
    }
    if (page.length < pageSize) return false
    after = page.at(-1)?.revision ?? revision
  }
  return false
}

/** Applies the event to the states of the keys. */
function publishesKey(states: Map<string, KeyState>, event: LedgerEvent): boolean {
  const { subject, changes = {}, time } = event
  const { algorithm, active, expireTime } = changes
  const before = states.get(subject.id) ?? {
    isCommon: !String(algorithm?.to).startsWith('ML-DSA'),
    enabled: false,
  }
  const expiry = expireTime === undefined ? before.expireTime : expireTime.to
  const state: KeyState = {
    isCommon: before.isCommon,
    enabled: active === undefined ? before.enabled : active.to === true,
    ...(expiry === undefined ? {} : { expireTime: String(expiry) }),
  }
  states.set(subject.id, state)
  return state.isCommon && isActive(state, time)
}
