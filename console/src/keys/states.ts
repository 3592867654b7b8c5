import type { JwtKey, JwtKeyWithDetails, KeyStateEntry } from '@pubring/client'
import { useMemo } from 'react'
import { useApi } from '../session/api.ts'

/** A key with its state, and what belongs to that. */
export type KeyRow = JwtKey & Omit<KeyStateEntry, 'kid'>

/** Whether it can be activated: an expired key needs another expiry, and a compromised one stays off. */
export const mayBeActivated = ({ state, endsBecause }: KeyRow): boolean =>
  state === 'off' && endsBecause !== 'compromised'

/** The states of a project's keys. */
export function useKeyStates(projectId: string) {
  return useApi(['keys', projectId, { states: true }], (client, signal) =>
    client.keys.states(projectId, { signal }),
  )
}

/** The keys with their states, in the same order. */
export function useKeyRows(keys: JwtKey[], states: KeyStateEntry[]): KeyRow[] {
  return useMemo(() => {
    const byKid = new Map(states.map((entry) => [entry.kid, entry]))
    return keys.map((key) => toKeyRow(key, byKid.get(key.id)))
  }, [keys, states])
}

/** A key that is too new for the states that were read is spreading, or off, unless it says its state. */
function toKeyRow(
  key: JwtKey & Partial<JwtKeyWithDetails>,
  entry: KeyStateEntry | undefined,
): KeyRow {
  if (entry === undefined) {
    return { state: key.details?.state ?? (key.active ? 'spreading' : 'off'), ...key }
  }
  const { kid: _kid, ...rest } = entry
  return { ...key, ...rest }
}

/** One key with its state. */
export function useKeyRow(key: JwtKey): KeyRow {
  const { data } = useKeyStates(key.projectId)
  return toKeyRow(
    key,
    data?.find(({ kid }) => kid === key.id),
  )
}
