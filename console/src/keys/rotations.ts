import type { Client, Project, Rotation, RotationUpdate } from '../../../client/src/index.ts'
import type { ApiRequest } from '../components/curl.tsx'
import { localTime } from '../components/times.tsx'
import { useApi, useChange } from '../session/api.ts'
import { useRefreshAt } from './refresh.ts'

/** Whether the old key is still in use. */
export const isUnderWay = ({ state }: Rotation): boolean =>
  state === 'spreading' || state === 'overlapping'

/** What happens or is to be done next in a rotation that is under way, as the end of a sentence. */
export function nextStep({ state, schedule }: Rotation): string {
  if (schedule?.waitingReason !== undefined) return 'a scheduled step waits for a decision.'
  if (state === 'spreading') return 'verifiers are still loading the new key.'
  if (schedule?.disableTime === undefined) return 'switch the signer to the new key.'
  return `the old key is deactivated at ${localTime(schedule.disableTime)}.`
}

/** The rotations of a project: those under way first, then the ended ones, each newest first. */
export function useRotations(projectId: string | undefined) {
  const query = useApi(
    ['rotations', projectId],
    (client, signal) => client.rotations.list(projectId ?? '', { signal }),
    { enabled: projectId !== undefined },
  )
  const times = query.data?.flatMap(({ convergedTime, schedule }) => [
    convergedTime,
    schedule?.disableTime,
    schedule?.deleteTime,
  ])
  useRefreshAt('rotations', projectId, times ?? [])
  return query
}

const useRotationChange = (projectId: string) =>
  useChange(['rotations', projectId], ['keys', projectId])

/** The requests that change a rotation. */
export function useRotationChanges({ projectId, id }: Rotation) {
  const change = useRotationChange(projectId)
  const path = `/projects/${projectId}/rotations/${id}`
  const requestOf = (request: ApiRequest, send: (client: Client) => Promise<unknown>) => ({
    request,
    run: () => change(send),
  })
  return {
    schedule: (body: RotationUpdate) =>
      requestOf({ method: 'PATCH', path, body }, (client) =>
        client.rotations.schedule(projectId, id, body),
      ),
    finish: (decision: { descendants?: boolean }) =>
      requestOf({ method: 'POST', path: `${path}/finish` }, (client) =>
        client.rotations.finish(projectId, id, decision),
      ),
    abandon: () =>
      requestOf({ method: 'DELETE', path }, (client) => client.rotations.abandon(projectId, id)),
  }
}

/** Starts the rotation of a key; the function takes the kid of the new one. */
export function useRotationStart({ id: projectId }: Project, from: string) {
  const change = useRotationChange(projectId)
  return (to: string) => change((client) => client.rotations.start(projectId, { from, to }))
}
