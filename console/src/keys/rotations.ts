import type { Rotation } from '@pubring/client'
import { useApi } from '../session/session.tsx'
import { useRefreshAt } from './live.ts'

export const isUnderWay = ({ state }: Rotation): boolean =>
  state === 'spreading' || state === 'overlapping'

/** Names the next step of a rotation that is under way, as the end of a sentence. */
export const nextStep = ({ state }: Rotation): string =>
  state === 'spreading'
    ? 'verifiers are still loading the new key.'
    : 'switch the signer to the new key.'

/** The rotations of a project: those under way first, then the ended ones, each newest first. */
export function useRotations(projectId: string | undefined) {
  const query = useApi(
    ['rotations', projectId],
    projectId && ((client, signal) => client.rotations.list(projectId, { signal })),
  )
  const times = query.data?.flatMap(({ convergedTime, expireTime }) => [convergedTime, expireTime])
  useRefreshAt(times ?? [], () => query.refetch())
  return query
}

/** What changes of rotations change. */
export const changedByRotations = (projectId: string) => [
  ['rotations', projectId],
  ['keys', projectId],
]
