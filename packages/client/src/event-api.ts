import type { CallOptions } from './call-options.ts'
import type { Event, HistoryEvent } from './types.ts'

/**
 * The ledger of a project; without `project`, the system's ledger.
 *
 * @example
 * for await (const { revision, type, subject } of client.events.follow({ project: 'payments' })) {
 *   console.log(revision, type, subject.id)
 * }
 */
export type EventOperations = {
  /**
   * Up to `limit` (1 to 200) events that match. Fails with `history_changed` if the ledger has no event
   * `after`, because the database was restored. With filters, use `page` or `all`: the service examines
   * a bounded number of events, so fewer than `limit` does not mean that there are no more.
   */
  list(options?: CallOptions & EventQuery): Promise<Event[]>
  /** The same, with the position of the next page, if there is one: pass it with the same filters. */
  page(options?: CallOptions & EventQuery): Promise<{ items: Event[]; next?: EventPosition }>
  /** All events that match, fetched page by page. */
  all(options?: CallOptions & EventQuery): AsyncIterable<Event>
  /** All events that match, as the text of a file of JSON lines. Throws if it was cut off. */
  export(options?: CallOptions & EventQuery): AsyncIterable<string>
  /**
   * A page of the events of all ledgers that match, newest first, with the place of the next page, if
   * there is one: pass it with the same filters. For admins of all projects.
   */
  history(options?: CallOptions & HistoryQuery): Promise<{ items: HistoryEvent[]; next?: string }>
  /**
   * The events after `after`, then each new one as it happens: in order and without gaps, across lost
   * connections and restarts of the service. Ends after `project.deleted`. Throws if the first
   * connection fails, if the service rejects the request, or when `signal` is aborted, and
   * `history_changed` if the database was restored and the ledger no longer has those events.
   */
  follow(
    options?: CallOptions & { project?: string; after?: number | string },
  ): AsyncIterable<Event>
}

/**
 * Where a page of events begins. Each is a revision, or better `REVISION.HASH8` with the first 8
 * characters of the hash of that event (`positionOf`), since after a restore of the database another
 * event may have the revision.
 */
export type EventPosition = {
  /** Only later events. Default: 0. */
  after?: number | string
  /** Only earlier events. */
  before?: number | string
}

/** The position of an event, `REVISION.HASH8`. */
export function positionOf({ revision, hash }: Pick<Event, 'revision' | 'hash'>): string {
  return `${revision}.${hash.slice(0, 8)}`
}

/** Which events of all ledgers; every filter that is set must match. Times are RFC 3339. */
export type HistoryQuery = {
  /** Id or name; of a deleted project its id. */
  project?: string
  /** Id, name or email address of a person, or the subject that their provider asserts. */
  person?: string
  /** Types, separated by commas. */
  type?: string
  /** Id of the key, API key … */
  subject?: string
  requestId?: string
  from?: string
  to?: string
  after?: string
  limit?: number
}

/** Which events; without `project`, of the system's ledger. */
export type EventQuery = EventPosition & {
  project?: string
  limit?: number
  /** Default: `asc`; `desc` is newest first. */
  order?: 'asc' | 'desc'
  /** Types, separated by commas. */
  type?: string
  /** Id, name, email address or subject of the actor. */
  actor?: string
  /** Id of the subject. */
  subject?: string
  /** Only events from this time on (RFC 3339). */
  since?: string
  /** Only events before this time (RFC 3339). */
  until?: string
}
