/** A tree of the log. Another one begins, with another key and origin, where a tree cannot go on. */
export interface LogTree {
  /** The end of its origin, which its key determines. */
  id: string
  /** Name of the tree in checkpoints: its public URL, without the scheme. */
  origin: string
  /** C2SP signed-note "vkey" of its checkpoints. */
  verifierKey: string
  /** Number of entries. */
  size: number
  /** The size of the tree in the checkpoint; 0 without one. */
  checkpointSize: number
  /** The last published one, a signed note. */
  checkpoint?: string
  /** When the next tree, with this origin, was started (ISO 8601). */
  endTime?: string
  nextOrigin?: string
}

/** The head of a ledger that the tree does not have yet. */
export interface MovedHead {
  ledgerId: string
  revision: number
  hash: string
}

/** An entry, and what is known of its ledger. */
export interface NewLogEntry extends MovedHead {
  /** 32 bytes, in base64. */
  blinding: string
  /** The entry as text. */
  content: string
}

export interface LogTile {
  level: number
  position: number
  /** Up to 256 hashes, in base64. */
  hashes: string
}

/** An entry of a ledger. */
interface FoundLogEntry {
  position: number
  content: string
  /** The blinding of its ledger: 32 bytes, in base64. */
  blinding: string
}

/** The reads of the log, of the tree that grows. Each is one statement, unless it says otherwise. */
export interface LogReads {
  /** A tree, by default the one that grows; undefined if there is none. */
  tree(id?: string): Promise<LogTree | undefined>
  /** The origin in the last event that a tree was started; undefined if there is none. */
  startedAs(): Promise<string | undefined>
  /**
   * The next `limit` ledgers after an id, in two statements: the heads that differ from what the tree
   * has. `last` is the `after` of the next page; absent at the end.
   */
  movedHeads(page: { after: string; limit: number }): Promise<{ heads: MovedHead[]; last?: string }>
  tile(level: number, position: number): Promise<string | undefined>
  /** The texts of entries from `start` up to `end`, without the latter. */
  entries(range: { start: number; end: number }): Promise<string[]>
  /** The first entry of the ledger with at least this revision, or its last one, before a position. */
  findEntry(
    ledgerId: string,
    search: { revision?: number; before: number },
  ): Promise<FoundLogEntry | undefined>
}
