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
  return metricsText({
    pubring_follow_ready: [
      'Whether all key sets can be relied on: 0 or 1.',
      [[{}, Number(problemOf(followed) === undefined)]],
    ],
    pubring_follow_age_seconds: [
      'Time since the server last confirmed the key set.',
      ofEach((one) => one.keys && Math.max(0, ageMsOf(one, clock)) / 1_000),
    ],
    pubring_follow_name_lost: [
      'Whether the name of the project does not lead to it: 0 or 1.',
      ofEach(({ nameProblem }) => Number(nameProblem !== undefined)),
    ],
    pubring_follow_refused_total: [
      'Responses that were refused because the server was set back or contradicts the log.',
      ofEach(({ refusals }) => refusals),
    ],
  })
}
