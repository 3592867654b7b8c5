import { useDocumentVisibility } from '@mantine/hooks'
import { type Client, type Event, PubringError, positionOf } from '@pubring/client'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { isOutage } from '../components/outage.ts'
import { useConnection } from '../session/context.tsx'

const reconnectMs = 3_000

/**
 * The ledger of a project, or of the system without `project`, and the position of the last event that
 * the page accounts for when it begins to follow.
 */
export type FollowedLedger = {
  project?: string
  findStart(client: Client, signal: AbortSignal): Promise<number | string>
}

/**
 * Calls `onEvents` with the new events of a ledger, and without them after an outage, from which it
 * reconnects. Only while the tab is visible: over HTTP/1.1 a browser shares six connections among all
 * tabs. `ledger` and `onEvents` must not change between renders; without `ledger`, nothing is followed.
 */
export function useLedgerEvents(
  ledger: FollowedLedger | undefined,
  onEvents: (events?: Event[]) => Promise<unknown>,
): void {
  const { client, report } = useConnection()
  const queries = useQueryClient()
  const visible = useDocumentVisibility() === 'visible'
  const last = useRef<{ ledger: FollowedLedger; after: number | string }>(undefined)
  useEffect(() => {
    if (ledger === undefined || !visible) return
    const controller = new AbortController()
    const { signal } = controller
    const followed = ledger
    const { project, findStart } = followed
    const refresh = coalesce(onEvents)
    async function follow() {
      const known = last.current?.ledger === followed ? last.current : undefined
      const position = known ?? { ledger: followed, after: await findStart(client, signal) }
      last.current = position
      const options = { after: position.after, signal, ...(project && { project }) }
      for await (const event of client.events.follow(options)) {
        position.after = positionOf(event)
        refresh(event)
      }
    }
    async function keepFollowing() {
      while (!signal.aborted) {
        try {
          return await follow()
        } catch (error) {
          if (signal.aborted) return
          report(error)
          if (isRejected(error)) return
          const isOtherHistory = isHistoryChange(error)
          if (isOtherHistory) last.current = undefined
          await (isOtherHistory ? queries.invalidateQueries() : onEvents())
          await new Promise((resolve) => setTimeout(resolve, reconnectMs))
        }
      }
    }
    void keepFollowing()
    return () => controller.abort()
  }, [client, report, queries, ledger, onEvents, visible])
}

/** Passes events to the action; those that come while it runs are passed together after its end. */
function coalesce(action: (events: Event[]) => Promise<unknown>): (event: Event) => void {
  const waiting: Event[] = []
  let running = false
  async function run() {
    running = true
    while (waiting.length > 0) await action(waiting.splice(0))
    running = false
  }
  return (event) => {
    waiting.push(event)
    if (!running) void run()
  }
}

/** The database was restored: the events that the page has seen are gone. */
function isHistoryChange(error: unknown): boolean {
  return error instanceof PubringError && error.code === 'history_changed'
}

/** Another attempt would have the same result; the queries of the page report the error. */
function isRejected(error: unknown): boolean {
  return !isOutage(error) && !isHistoryChange(error)
}
