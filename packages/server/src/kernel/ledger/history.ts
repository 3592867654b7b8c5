import type { LedgerEvent } from './chain.ts'

/** Which events; every member that is set must match. */
export interface EventFilter {
  types?: readonly string[]
  /**
   * Matches the id of an API key, session or access rule, the name of an API key, command or person,
   * and the subject of a person or workload.
   */
  actor?: string
  /** `actor` may also be the email address of a person, which not everyone may learn who reads names. */
  byEmail?: true
  /** Id. */
  subject?: string
  /** ISO 8601: events from this time on, and before this time. */
  since?: string
  until?: string
}

/** A stretch of a ledger, between two revisions that it excludes. */
export interface HistoryPage {
  after: number
  before?: number | undefined
  limit: number
  newestFirst: boolean
  filter: EventFilter
}

/** `examinedTo`: the revision of the last event that was examined, if others of the stretch were not. */
export interface HistoryResult {
  events: LedgerEvent[]
  examinedTo?: number
}

/** Which events of all ledgers; every member that is set must match. */
export interface RegistryFilter {
  projectId?: string
  /** The subjects of people, as their providers name them. */
  people?: readonly string[]
  types?: readonly string[]
  /** Id. */
  subject?: string
  requestId?: string
  /** ISO 8601: events from this time on, and before this time. */
  from?: string
  to?: string
}

/** Where a page ends: before this event the next one begins. */
export interface EventPlace {
  time: string
  ledgerId: string
  revision: number
}

export interface RegistryPage {
  filter: RegistryFilter
  before?: EventPlace
  limit: number
}

/** `next`: where the next page begins, if there may be one. */
export interface RegistryResult {
  events: LedgerEvent[]
  next?: EventPlace
}
