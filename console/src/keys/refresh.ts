import { type Client, type JwtKey, PubringError } from '@pubring/client'
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef } from 'react'
import { useConnection } from '../session/context.tsx'

/** What depends on a time is read again this long after a time has passed, in milliseconds. */
const afterTimeMs = 300

/** An answer may be this old when the page shows it, in milliseconds. */
const longestTripMs = 30_000

/** No timer runs for longer: it would keep an unattended session alive. */
export const longestWaitMs = 600_000

/** Changes of more keys than these are read as the whole list. */
const maxKeysRead = 10

/**
 * Returns a function that reads these keys of a project again, or all, and what depends on them. A list
 * of thousands stays but for the keys that changed.
 */
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

/**
 * Calls `refresh` once when the next of these times has passed: states depend on them. A time
 * may have passed between the answer and its display.
 */
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
