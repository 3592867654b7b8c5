import { useDocumentVisibility } from '@mantine/hooks'
import { type Client, type Event, type JwtKey, PubringError, positionOf } from '@pubring/client'
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef } from 'react'
import { isOutage } from '../components/outage.ts'
import { useConnection } from '../session/session.tsx'

const reconnectMs = 3_000

/** A project's ledger, or without `project` the system's, and where to begin to follow it. */
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
const isHistoryChange = (error: unknown): boolean =>
  error instanceof PubringError && error.code === 'history_changed'

/** Another attempt would have the same result; the queries of the page report the error. */
const isRejected = (error: unknown): boolean => !isOutage(error) && !isHistoryChange(error)

/** Milliseconds after a time has passed in which the service has taken notice of it. */
const afterTimeMs = 300

/** An answer may be this old when the page shows it, in milliseconds. */
const longestTripMs = 30_000

/** No timer runs for longer: it would keep an unattended session alive. */
export const longestWaitMs = 600_000

/** Changes of more keys than these are read as the whole list. */
const maxKeysRead = 10

/** Reads these keys of a project again, or all; a list of thousands stays but for them. */
export function useKeyRefresh(projectId: string | undefined) {
  const { client } = useConnection()
  const queries = useQueryClient()
  return useCallback(
    async (kids?: readonly string[]) => {
      const queryKey = ['keys', projectId]
      const isPatched =
        kids !== undefined && (await patchList(queries, client, projectId ?? '', new Set(kids)))
      await queries.invalidateQueries({
        queryKey,
        predicate: (query) => !isPatched || query.queryKey.length > queryKey.length,
      })
    },
    [client, queries, projectId],
  )
}

/** Replaces these keys in the list that the page has; false if all of it must be read. */
async function patchList(
  queries: QueryClient,
  client: Client,
  projectId: string,
  kids: ReadonlySet<string>,
): Promise<boolean> {
  const list = { queryKey: ['keys', projectId], exact: true }
  const isWhole = () => queries.getQueryState(list.queryKey)?.status === 'success'
  if (kids.size > maxKeysRead || !isWhole() || queries.isFetching(list) > 0) return false
  try {
    const found = await Promise.all(
      [...kids].map((kid) => client.keys.get(projectId, kid).catch(ignoreDeleted)),
    )
    if (queries.isFetching(list) > 0) return false
    queries.setQueryData<JwtKey[]>(list.queryKey, (keys = []) => {
      const held = new Map(keys.map((key) => [key.id, key]))
      // Answers may arrive in another order than the service gave them in.
      const newest = found.flatMap((key) => {
        const known = held.get(key?.id ?? '')
        return (key && known && known.updateTime > key.updateTime ? known : key) ?? []
      })
      return [...keys.filter(({ id }) => !kids.has(id)), ...newest].sort(byAge)
    })
    return true
  } catch {
    // The whole list reports why.
    return false
  }
}

function ignoreDeleted(error: unknown): undefined {
  if (!(error instanceof PubringError && error.code === 'key_not_found')) throw error
}

/** The order of the service. */
const byAge = (a: JwtKey, b: JwtKey) => (a.createTime + a.id < b.createTime + b.id ? -1 : 1)

/** Calls `refresh` once after the next of these times, or one that has just passed. */
export function useRefreshAt(
  times: (string | undefined)[],
  refresh: (time: string) => unknown,
): void {
  const latest = useRef(refresh)
  latest.current = refresh
  const lastRead = useRef('')
  const now = new Date().toISOString()
  const since = new Date(Date.now() - longestTripMs).toISOString()
  const sorted = times
    .filter((time) => time !== undefined)
    .filter((time) => time > since)
    .sort()
  const recent = sorted.findLast((time) => time <= now)
  const next = sorted.find((time) => time > now)
  useEffect(() => {
    const timers = [recent, next].flatMap((time = '') => {
      const wait = Date.parse(time) - Date.now() + afterTimeMs
      if (time <= lastRead.current || wait > longestWaitMs) return []
      const pass = () => {
        lastRead.current = time
        void latest.current(time)
      }
      return [setTimeout(pass, wait)]
    })
    return () => timers.forEach(clearTimeout)
  }, [recent, next])
}
