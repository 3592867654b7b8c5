import type { Clock } from '@pubring/server/runtime/clock'
import { metricsText } from '../metrics.ts'
import { ageMsOf, type Followed, problemOf } from './followed.ts'

/** The follower's metrics. */
export function followerMetrics(followed: readonly Followed[], clock: Clock): string {
  const ofEach = (read: (one: Followed) => number | undefined) =>
    followed.flatMap((one) => {
      const value = read(one)
      return value === undefined ? [] : [[{ project: one.project }, value] as const]
    })
  return metricsText([
    {
      name: 'pubring_follow_ready',
      help: 'Whether all key sets can be relied on: 0 or 1.',
      type: 'gauge',
      values: [[{}, Number(problemOf(followed) === undefined)]],
    },
    {
      name: 'pubring_follow_age_seconds',
      help: 'Time since the server last confirmed the key set.',
      type: 'gauge',
      values: ofEach((one) => one.keys && Math.max(0, ageMsOf(one, clock)) / 1_000),
    },
    {
      name: 'pubring_follow_name_lost',
      help: 'Whether the name of the project does not lead to it: 0 or 1.',
      type: 'gauge',
      values: ofEach(({ nameProblem }) => Number(nameProblem !== undefined)),
    },
    {
      name: 'pubring_follow_refused_total',
      help: 'Responses that were refused because the server was set back.',
      type: 'counter',
      values: ofEach(({ refusals }) => refusals),
    },
  ])
}
