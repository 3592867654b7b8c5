import type { AnySubject } from '../../../kernel/ledger/subject.ts'
import { type RowOf, table } from '../../../kernel/storage/schema.ts'
import { inChunks } from '../../../kernel/storage/statements.ts'

/**
 * RFC 7638 thumbprints and material hashes of public keys whose private keys were submitted. A
 * transaction also inserts the hashes and kids of new keys (`kid KID`) as locks, and deletes them.
 */
export const blockedFingerprintTable = table('blocked_fingerprint', {
  fingerprint: 'key text',
  create_time: 'text',
})

declare module '../../../kernel/storage/schema.ts' {
  interface Tables {
    blocked_fingerprint: RowOf<typeof blockedFingerprintTable>
  }
}

export const blockedFingerprints: AnySubject = {
  name: 'blocked_fingerprint',
  scope: 'both',
  eventTypes: ['private_key.refused'],
  mayBeUnrecorded: true,
  effects: ({ type, changes: { thumbprint, materialSha256 } = {} }) =>
    type !== 'private_key.refused'
      ? []
      : [thumbprint?.to, materialSha256?.to]
          .filter((value) => value !== undefined)
          .map((value) => ({ id: String(value), action: 'set', changes: {} })),
  async rowsOf(db, _ledgerId, idsOf) {
    const rows = await inChunks(idsOf(), (some) =>
      db
        .selectFrom('blocked_fingerprint')
        .select('fingerprint')
        .where('fingerprint', 'in', some)
        .execute(),
    )
    return rows.map(({ fingerprint }) => ({ id: fingerprint, members: {} }))
  },
  accept: async () => [],
}
