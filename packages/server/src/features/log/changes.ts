import { change, type Origin } from '../../kernel/changes.ts'
import type { LogTile, LogTree, NewLogEntry } from './records.ts'

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
  tiles: LogTile[]
}

export interface LogPublication {
  id: string
  size: number
  checkpoint: string
}

export const logChanges = {
  startLog: change<LogStart>('log.start'),
  /** Returns whether the entries were appended. */
  appendToLog: change<LogAppend, boolean>('log.append'),
  publishCheckpoint: change<LogPublication>('log.publish'),
}
