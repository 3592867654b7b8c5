import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { Project, Rotation, RotationUpdate } from '../../../client/src/index.ts'
import type { ApiRequest } from '../components/curl.tsx'
import { localTime } from '../components/times.tsx'
import { useSession } from '../session/context.tsx'
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
  const { client } = useSession()
  const query = useQuery({
    queryKey: ['rotations', projectId],
    queryFn: ({ signal }) => client.rotations.list(projectId ?? '', { signal }),
    enabled: projectId !== undefined,
  })
  const times = query.data?.flatMap(({ convergedTime, schedule }) => [
    convergedTime,
    schedule?.disableTime,
    schedule?.deleteTime,
  ])
  useRefreshAt('rotations', projectId, times ?? [])
  return query
}

/** The requests that change a rotation. */
export function useRotationChanges({ projectId, id }: Rotation) {
  const { client } = useSession()
  const queries = useQueryClient()
  const path = `/projects/${projectId}/rotations/${id}`
  const change = (request: ApiRequest, send: () => Promise<unknown>) => ({
    request,
    run: async () => {
      await send()
      await refreshRotations(queries, projectId)
    },
  })
  return {
    schedule: (body: RotationUpdate) =>
      change({ method: 'PATCH', path, body }, () => client.rotations.schedule(projectId, id, body)),
    finish: (decision: { descendants?: boolean }) =>
      change({ method: 'POST', path: `${path}/finish` }, () =>
        client.rotations.finish(projectId, id, decision),
      ),
    abandon: () =>
      change({ method: 'DELETE', path }, () => client.rotations.abandon(projectId, id)),
  }
}

/** Starts the rotation of a key; `run` takes the kid of the new one. */
export function useRotationStart({ id: projectId }: Project, from: string) {
  const { client } = useSession()
  const queries = useQueryClient()
  return async (to: string) => {
    await client.rotations.start(projectId, { from, to })
    await refreshRotations(queries, projectId)
  }
}

async function refreshRotations(queries: ReturnType<typeof useQueryClient>, projectId: string) {
  await queries.invalidateQueries({ queryKey: ['rotations', projectId] })
  await queries.invalidateQueries({ queryKey: ['keys', projectId] })
}
