import { type EventChanges, eventChanges } from '../ledger/chain.ts'
import type { KeyRecord } from '../records.ts'

/** The members of a key that the ledger records: hashes in place of the material. */
function ledgerMembers(key: KeyRecord) {
  return {
    label: key.label,
    publishedKid: key.publishedKid,
    algorithm: key.algorithm,
    active: key.enabled,
    expireTime: key.expireTime,
    thumbprint: key.thumbprint,
    spkiSha256: key.spkiSha256,
    normalised: key.normalised.length === 0 ? undefined : key.normalised.join(' '),
  }
}

/** The changed members of a key; a new one has no `before`. */
export function keyChanges(before: KeyRecord | undefined, after: KeyRecord): EventChanges {
  return eventChanges(before && ledgerMembers(before), ledgerMembers(after))
}

export function deletedKeyChanges(key: KeyRecord): EventChanges {
  const { label, thumbprint, publishedKid } = ledgerMembers(key)
  return {
    label: { from: label },
    thumbprint: { from: thumbprint },
    ...(publishedKid === undefined ? {} : { publishedKid: { from: publishedKid } }),
  }
}
