import type { Client, JwtKeyUpdate } from '@pubring/client'
import { useEffect, useRef, useState } from 'react'
import { isOutage, messageOf } from '../../../components/outage.ts'
import { useKeyRefresh } from '../../../keys/live.ts'
import type { KeyRow } from '../../../keys/queries.ts'
import { signInReason } from '../../../session/client.ts'
import { useSession } from '../../../session/session.tsx'
import type { BulkAction } from './bulk-actions.tsx'

const concurrency = 4

/** The outcome for a key; without `error`, the action was carried out. */
export type Outcome = { error?: string }

export type EndReason = NonNullable<JwtKeyUpdate['reason']>

/** The patch of one key. A compromised one ends as that, and takes no weaker reason. */
function patchOf(action: BulkAction, { state }: KeyRow, reason: EndReason): JwtKeyUpdate {
  if (action === 'activate') return { active: true }
  const isGiven = reason !== 'unspecified' && state !== 'compromised'
  return { active: false, ...(isGiven && { reason }) }
}

export function send({ keys }: Client, action: BulkAction, key: KeyRow, reason: EndReason) {
  const { projectId, id } = key
  if (action === 'delete') return keys.delete(projectId, id)
  return keys.update(projectId, id, patchOf(action, key, reason))
}

/**
 * Carries out an action, whose button has the label `name`, on each key. A rejected one does not stop the
 * others; an outage does, and so does cancelling the sign-in. Calls `onSuccess` if none failed.
 */
export function useBulkRun(
  action: BulkAction,
  name: string,
  { targets, reason }: { targets: KeyRow[]; reason: EndReason },
  onSuccess: () => void,
) {
  const { client, withSignIn } = useSession()
  const refresh = useKeyRefresh(targets[0]?.projectId)
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map())
  const [running, setRunning] = useState(false)
  const stopped = useRef<string>(undefined)
  useEffect(
    () => () => {
      stopped.current = 'The dialog was closed.'
    },
    [],
  )

  async function apply(key: KeyRow): Promise<Outcome> {
    if (stopped.current !== undefined) return { error: `Not tried. ${stopped.current}` }
    try {
      await withSignIn<unknown>(() => send(client, action, key, reason), name)
      return {}
    } catch (error) {
      if (isOutage(error)) stopped.current = 'The service cannot be reached.'
      if (signInReason(error) !== undefined) stopped.current = 'You have not signed in again.'
      return { error: messageOf(error) }
    }
  }
  async function run(keys: KeyRow[]) {
    stopped.current = undefined
    setRunning(true)
    const results = new Map(outcomes)
    for (const { id } of keys) results.delete(id)
    const rest = keys.values()
    // The workers share the iterator.
    const work = async () => {
      for (const key of rest) {
        results.set(key.id, await apply(key))
        setOutcomes(new Map(results))
      }
    }
    await Promise.all(Array.from({ length: concurrency }, work))
    setRunning(false)
    await refresh(keys.map(({ id }) => id))
    if ([...results.values()].every(({ error }) => error === undefined)) onSuccess()
  }
  return {
    outcomes,
    running,
    run: (keys: KeyRow[]) => void run(keys),
    stop: () => {
      stopped.current = 'It was stopped.'
    },
  }
}
