import { followEvents, systemPath } from './follow.ts'
import { readList, readPage, readPageAfter } from './operations.ts'
import type { CallOptions } from './options.ts'
import { projectPath } from './projects.ts'
import type { Transport } from './transport/transport.ts'
import type { Event, HistoryEvent } from './types.ts'

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
  /**
   * Only events by this actor: the id of an API key, session or access rule; the name of an API key,
   * command or person; or the subject of a person or workload.
   */
  actor?: string
  /** Id of the subject. */
  subject?: string
  /** Only events from this time on (RFC 3339). */
  from?: string
  /** Only events before this time (RFC 3339). */
  to?: string
}

type EventOptions = CallOptions & EventQuery

export function eventOperations(transport: Transport) {
  const page = ({ project, signal, retries, ...query }: EventOptions = {}) =>
    readPage<Event>(transport, { ...readList(pathOf(project), query), signal, retries })
  return {
    /**
     * Up to `limit` (1 to 200) events that match. Fails with `history_changed` if the ledger has no event
     * `after`, because the database was restored. With filters, use `page` or `all`: the service examines
     * a bounded number of events, so fewer than `limit` does not mean that there are no more.
     */
    list: async (options?: EventOptions) => (await page(options)).items,
    /** The same, with the position of the next page, if there is one: pass it with the same filters. */
    page: async (options?: EventOptions): Promise<{ items: Event[]; next?: EventPosition }> =>
      page(options),
    /** All events that match, fetched page by page. */
    async *all(options: EventOptions = {}): AsyncIterable<Event> {
      let position: EventPosition | undefined = {}
      while (position !== undefined) {
        const found: Awaited<ReturnType<typeof page>> = await page({
          limit: 200,
          ...options,
          ...position,
        })
        yield* found.items
        position = found.next
      }
    },
    /**
     * A page of the events of all ledgers that match, newest first, with the place of the next page, if
     * there is one: pass it with the same filters. For admins of all projects.
     */
    history: async ({ signal, retries, ...query }: CallOptions & HistoryQuery = {}) =>
      readPageAfter<HistoryEvent>(transport, { ...readList('/history', query), signal, retries }),
    /**
     * The events after `after`, then each new one as it happens: in order and without gaps, across lost
     * connections and restarts of the service. Ends after `project.deleted`. Throws if the first
     * connection fails, if the service rejects the request, or when `signal` is aborted, and
     * `history_changed` if the database was restored and the ledger no longer has those events.
     */
    follow: ({
      project,
      ...options
    }: CallOptions & { project?: string; after?: number | string } = {}): AsyncIterable<Event> =>
      followEvents(transport, pathOf(project), options),
  }
}

const pathOf = (project: string | undefined) =>
  project === undefined ? systemPath : `${projectPath(project)}${systemPath}`
