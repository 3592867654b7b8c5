import type { JwtKey, KeyRole, KeyRoleEntry } from '@pubring/client'
import { useMemo } from 'react'
import { stateOf } from '../components/state-badge.tsx'
import { useApi } from '../session/api.ts'

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
  return useApi(['keys', projectId, { roles: true }], (client, signal) =>
    client.keys.roles(projectId, { signal }),
  )
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
