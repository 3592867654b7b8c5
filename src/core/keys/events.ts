import type { EventChanges } from '../ledger/chain.ts'
import type { KeyRecord } from '../records.ts'

export function deletedKeyChanges({ label, thumbprint, publishedKid }: KeyRecord): EventChanges {
  return {
    label: { from: label },
    thumbprint: { from: thumbprint },
    ...(publishedKid === undefined ? {} : { publishedKid: { from: publishedKid } }),
  }
}
