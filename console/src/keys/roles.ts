import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import type { JwtKey, KeyRole, KeyRoleEntry } from '../../../client/src/index.ts'
import { stateOf } from '../components/state-badge.tsx'
import { useSession } from '../session/context.tsx'

/** The role of a key in its project; `active` until the role of an active key is known. */
export type KeyState = KeyRole | 'active'

export const keyStates: readonly KeyState[] = [
  'spreading',
  'current',
  'previous',
  'active',
  'off',
  'expired',
]

/** A key with its role, and what belongs to that. */
export type KeyRow = JwtKey & { state: KeyState } & Pick<
    KeyRoleEntry,
    'convergedTime' | 'rotationId'
  >

/** The roles of a project's keys. */
export function useKeyRoles(projectId: string) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['keys', projectId, { roles: true }],
    queryFn: ({ signal }) => client.keys.roles(projectId, { signal }),
  })
}

/** How long after a role changed by the passing of time the keys are read again, in milliseconds. */
const afterChangeMs = 300

/** No timer runs for longer: it would keep an unattended session alive. */
const longestWaitMs = 600_000

/** Reads the keys of a project again when the next of these times has passed: roles depend on them. */
export function useRefreshAt(projectId: string, times: (string | undefined)[]): void {
  const queries = useQueryClient()
  const now = new Date().toISOString()
  const next = times.reduce<string | undefined>(
    (first, time) => (time !== undefined && time > now && !(first && first < time) ? time : first),
    undefined,
  )
  useEffect(() => {
    const wait = Date.parse(next ?? '') - Date.now() + afterChangeMs
    if (!(wait <= longestWaitMs)) return
    const timer = setTimeout(
      () => void queries.invalidateQueries({ queryKey: ['keys', projectId] }),
      wait,
    )
    return () => clearTimeout(timer)
  }, [queries, projectId, next])
}

/** The keys with their roles, in the same order. */
export function useKeyRows(keys: JwtKey[], roles: KeyRoleEntry[] | undefined): KeyRow[] {
  return useMemo(() => {
    const byKid = new Map(roles?.map((entry) => [entry.kid, entry]))
    return keys.map((key) => toKeyRow(key, byKid.get(key.id)))
  }, [keys, roles])
}

function toKeyRow(key: JwtKey, entry: KeyRoleEntry | undefined): KeyRow {
  if (entry === undefined) return { ...key, state: stateOf(key, 'off') }
  const { role, kid: _kid, ...rest } = entry
  return { ...key, ...rest, state: role }
}

/** One key with its role. */
export function useKeyRow(key: JwtKey): KeyRow {
  const { data } = useKeyRoles(key.projectId)
  return useMemo(
    () =>
      toKeyRow(
        key,
        data?.find(({ kid }) => kid === key.id),
      ),
    [key, data],
  )
}
