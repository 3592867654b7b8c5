import type { Store } from '../context.ts'
import { isActive } from '../expiry.ts'
import type { LedgerEvent, Members } from '../ledger/chain.ts'
import { applyEffect, subjectKinds } from '../ledger/subjects.ts'

/** Events per read. Most projects publish a key with one of their first events. */
const pageSize = 100

/**
 * Whether a key of the project was ever in `jwks.json`, up to the revision. The ledger knows this of
 * deleted keys too, and every replica reads the same there.
 */
export async function hadPublishedKey(
  { events }: Pick<Store, 'events'>,
  projectId: string,
  revision: number,
): Promise<boolean> {
  const states = new Map<string, Members>()
  let after = 0
  while (after < revision) {
    const page = await events(projectId, { after, limit: pageSize })
    for (const event of page) {
      if (event.revision > revision) return false
      if (publishesKey(states, event)) return true
    }
    if (page.length < pageSize) return false
    after = page.at(-1)?.revision ?? revision
  }
  return false
}

/** Applies the event to the states of the keys. */
function publishesKey(states: Map<string, Members>, event: LedgerEvent): boolean {
  return subjectKinds.key.effects(event).some((effect) => {
    const state = applyEffect(states.get(effect.id) ?? {}, effect)
    states.set(effect.id, state)
    const { algorithm, active, expireTime } = state
    if (String(algorithm).startsWith('ML-DSA')) return false
    const expiry = expireTime === undefined ? {} : { expireTime: String(expireTime) }
    return isActive({ enabled: active === true, ...expiry }, event.time)
  })
}
