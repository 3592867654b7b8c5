import { type EventChanges, eventChanges } from '../ledger/chain.ts'
import type { KeyRecord } from '../records.ts'

/** The members of a key whose history the ledger keeps: no material, only its hashes. */
function recorded(key: KeyRecord) {
  return {
    label: key.label,
    algorithm: key.algorithm,
    active: key.enabled,
    expireTime: key.expireTime,
    thumbprint: key.thumbprint,
    spkiSha256: key.spkiSha256,
    normalised: key.normalised.length === 0 ? undefined : key.normalised.join(' '),
  }
}

/** What a change did to a key, member by member; `before` is absent at its creation. */
export function keyChanges(before: KeyRecord | undefined, after: KeyRecord): EventChanges {
  return eventChanges(before && recorded(before), recorded(after))
}

/** What a deleted key was. */
export function deletedKeyChanges(key: KeyRecord): EventChanges {
  const { label, thumbprint } = recorded(key)
  return { label: { from: label }, thumbprint: { from: thumbprint } }
}
