import { useDocumentVisibility } from '@mantine/hooks'
import { type Client, PubringError, positionOf } from '@pubring/client'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { isOutage } from '../components/outage.ts'
import { useSession } from '../session/context.tsx'

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
 * Calls `onEvent` for each new event of a ledger, and reconnects after an outage. Only while the tab is
 * visible: over HTTP/1.1 a browser shares six connections among all tabs. `ledger` and `onEvent` must
 * not change between renders; without `ledger`, nothing is followed.
 */
export function useLedgerEvents(
  ledger: FollowedLedger | undefined,
  onEvent: () => Promise<unknown>,
): void {
  const { client, report } = useSession()
  const queries = useQueryClient()
  const visible = useDocumentVisibility() === 'visible'
  const last = useRef<{ ledger: FollowedLedger; after: number | string }>(undefined)
  useEffect(() => {
    if (ledger === undefined || !visible) return
    const controller = new AbortController()
    const { signal } = controller
    const followed = ledger
    const { project, findStart } = followed
    const refresh = coalesce(onEvent)
    async function follow() {
      const known = last.current?.ledger === followed ? last.current : undefined
      const position = known ?? { ledger: followed, after: await findStart(client, signal) }
      last.current = position
      const options = { after: position.after, signal, ...(project && { project }) }
      for await (const event of client.events.follow(options)) {
        position.after = positionOf(event)
        refresh()
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
          await (isOtherHistory ? queries.invalidateQueries() : onEvent())
          await new Promise((resolve) => setTimeout(resolve, reconnectMs))
        }
      }
    }
    void keepFollowing()
    return () => controller.abort()
  }, [client, report, queries, ledger, onEvent, visible])
}

/** Runs the action once more after its end if it was called meanwhile, however often. */
function coalesce(action: () => Promise<unknown>): () => void {
  let running = false
  let again = false
  async function run() {
    running = true
    do {
      again = false
      await action()
    } while (again)
    running = false
  }
  return () => {
    if (running) again = true
    else void run()
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
