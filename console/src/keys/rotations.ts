import type { Client, Project, Rotation, RotationCreate } from '@pubring/client'
import type { ApiRequest } from '../components/curl.tsx'
import { useApi, useChange } from '../session/session.tsx'
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

const useRotationChange = (projectId: string) =>
  useChange(['rotations', projectId], ['keys', projectId])

export function useRotationChanges({ projectId, id }: Rotation) {
  const change = useRotationChange(projectId)
  const path = `/projects/${projectId}/rotations/${id}`
  const requestOf = (request: ApiRequest, send: (client: Client) => Promise<unknown>) => ({
    request,
    run: () => change(send),
  })
  return {
    /** With another token lifetime, if one is given. */
    finish: (tokenLifetime: number | undefined) =>
      requestOf({ method: 'POST', path: `${path}/finish` }, async (client) => {
        if (tokenLifetime !== undefined) {
          await client.rotations.update(projectId, id, { tokenLifetime })
        }
        await client.rotations.finish(projectId, id)
      }),
    abandon: () =>
      requestOf({ method: 'DELETE', path }, (client) => client.rotations.abandon(projectId, id)),
  }
}

/** Starts the rotation of a key; the function takes the kid of the new one. */
export function useRotationStart(
  { id: projectId }: Project,
  rotation: Pick<RotationCreate, 'from' | 'tokenLifetime'>,
) {
  const change = useRotationChange(projectId)
  return (to: string) => change((client) => client.rotations.start(projectId, { ...rotation, to }))
}
