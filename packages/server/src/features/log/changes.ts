import { change, type Origin } from '../../kernel/changes.ts'

export interface LogStart {
  origin: Origin
  tree: Pick<LogTree, 'id' | 'origin' | 'verifierKey'>
  /** The tree that ends: the one that grows in the database, and what was last signed. */
  previous?: { id?: string; origin?: string; size?: number; hash?: string }
}

export interface LogAppend {
  /** The id of the tree. */
  id: string
  /** The size before. If it is another, or an entry is later than `notSince`, nothing is done. */
  size: number
  notSince: string
  time: string
  entries: NewLogEntry[]
  /** The text of an entry after them, with the root of the map of last heads. */
  heads?: string
  tiles: LogTile[]
}

export interface LogPublication {
  id: string
  /** The size of the tree in the published checkpoint. If it is another, nothing is done. */
  from: number
  size: number
  checkpoint: string
  /** The changes of the map of last heads. */
  tiles: LogTile[]
  slots: LogSlot[]
}

export const logChanges = {
  startLog: change<LogStart>('log.start'),
  /** Returns whether the entries were appended. */
  appendToLog: change<LogAppend, boolean>('log.append'),
  /** Returns whether it was published. */
  publishCheckpoint: change<LogPublication, boolean>('log.publish'),
}

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
  /** The last logged revision; absent if the ledger was not logged. */
  loggedRevision?: number | null
  /** 1 if the ledger still has the logged event. */
  continues?: number
  /** The keys that the project publishes; null for other ledgers. */
  list: string | null
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

/** A leaf of the map of last heads, in base64. */
export interface LogSlot {
  /** The first 16 bits of the slot. */
  bucket: number
  slot: string
  hash: string
}
