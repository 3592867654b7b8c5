import { type RowOf, table } from '../../kernel/storage/schema.ts'

/** The trees of the log. The one that has not ended grows; of the others, only this row is left. */
export const logTreeTable = table(
  'log_tree',
  {
    /** The end of its origin. */
    id: 'key text',
    origin: 'text',
    verifier_key: 'text',
    /** Number of entries; those beyond the checkpoint are not published yet. */
    size: 'bigint',
    append_time: 'nullable text',
    checkpoint_size: 'bigint',
    /** Null until the first one. */
    checkpoint: 'nullable text',
    /** When the next tree, with this origin, was started. */
    end_time: 'nullable text',
    next_origin: 'nullable text',
  },
  { append_time: 'it only spaces the checkpoints' },
)

export const logEntryTable = table('log_entry', {
  /** The place in the tree, from 0. */
  position: 'key bigint',
  /** Null for an entry with the root of the map of last heads, as `revision`. */
  ledger_id: 'nullable text',
  revision: 'nullable bigint',
  content: 'text',
})

/**
 * Up to 256 hashes (C2SP tlog-tiles), in base64. A partial tile is the beginning of a row. The tiles of negative
 * levels, of 16 hashes, are those of the map of last heads.
 */
export const logTileTable = table('log_tile', {
  level: 'key integer',
  position: 'key bigint',
  hashes: 'text',
})

/** The leaves of the map of last heads at the published checkpoint, in base64. */
export const logSlotTable = table('log_slot', {
  /** The first 16 bits of the slot. */
  bucket: 'key integer',
  slot: 'key text',
  hash: 'text',
})

/** The last logged head of each ledger, and the secret that blinds its id, in base64. */
export const logLedgerTable = table('log_ledger', {
  ledger_id: 'key text',
  blinding: 'text',
  revision: 'bigint',
  hash: 'text',
  /** The keys that the project published then, for its public proof; null for other ledgers. */
  list: 'nullable text',
})

declare module '../../kernel/storage/schema.ts' {
  interface Tables {
    log_tree: RowOf<typeof logTreeTable>
    log_entry: RowOf<typeof logEntryTable>
    log_tile: RowOf<typeof logTileTable>
    log_slot: RowOf<typeof logSlotTable>
    log_ledger: RowOf<typeof logLedgerTable>
  }
}
