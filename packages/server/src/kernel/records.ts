import type { Algorithm } from '@pubring/intake/algorithms'

/** A stored project. All times in records are ISO 8601 in UTC with milliseconds. */
export interface ProjectRecord {
  id: string
  name: string
  revision: number
  createTime: string
  updateTime: string
}

/** The members of a project that change only with an event of the system ledger. */
export type ProjectIdentity = Pick<ProjectRecord, 'id' | 'name'>

/** The last event of a ledger. */
export interface LedgerHead {
  revision: number
  hash: string
}

/** The head of a ledger as it is stored. */
export interface CurrentHead extends LedgerHead {
  /** Epoch milliseconds of the last change without an event, and rising with each; null if there was none. */
  eventlessTime: number | null
}

/** The head of a ledger at the time of a read. */
export interface ObservedHead {
  ledgerId: string
  hash: string
  /** Absent if changes without events do not matter. */
  eventlessTime?: number | null
}

/** The record in the path of a request, and on what conditions the request changes it. */
export interface RecordReference {
  id: string
  ifMatch?: string
  /** Permits a change that takes access from the caller. */
  confirm?: 'self'
}

/** The result of comparing a row with its ledger, as a read adds it. */
export interface Contradictable {
  /** The row contradicts its ledger or itself: it is not active, and gives no rights. */
  contradicted?: true
}

/** A record as it is stored: with `enabled`, from which the API derives `active`. */
export type Stored<Shown> = Omit<Shown, 'active'> & Contradictable & { enabled: boolean }

/** Counts of the whole registry. */
export interface Census {
  keys: KeyCount[]
  warnings: { code: string; severity: string; count: number }[]
  /** Ids of projects with warnings, those whose keys expire first in front; not all of them. */
  warnedProjects: string[]
}

/** The number of keys of one algorithm and state. */
export interface KeyCount {
  algorithm: Algorithm
  enabled: boolean
  expired: boolean
  compromised: boolean
  count: number
  /** The earliest `expireTime` among them. */
  firstExpiry?: string
}
