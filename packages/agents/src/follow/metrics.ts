import type { Clock } from '@pubring/server/runtime/clock'
import { ageMsOf, type Followed, problemOf } from './followed.ts'

interface Metric {
  name: string
  help: string
  type: 'gauge' | 'counter'
  /** Undefined: there is no value yet. */
  read(one: Followed): number | undefined
}

/** The follower's metrics in the text format of Prometheus. */
export function metricsText(followed: readonly Followed[], clock: Clock): string {
  const metrics: Metric[] = [
    {
      name: 'pubring_follow_age_seconds',
      help: 'Time since the server last confirmed the key set.',
      type: 'gauge',
      read: (one) => one.keys && Math.max(0, ageMsOf(one, clock)) / 1_000,
    },
    {
      name: 'pubring_follow_name_lost',
      help: 'Whether the name of the project does not lead to it: 0 or 1.',
      type: 'gauge',
      read: ({ nameProblem }) => Number(nameProblem !== undefined),
    },
    {
      name: 'pubring_follow_refused_total',
      help: 'Responses that were refused because the server was set back.',
      type: 'counter',
      read: ({ refusals }) => refusals,
    },
  ]
  const ready = `# HELP pubring_follow_ready Whether all key sets can be relied on: 0 or 1.
# TYPE pubring_follow_ready gauge
pubring_follow_ready ${Number(problemOf(followed) === undefined)}
`
  return metrics.reduce((text, { name, help, type, read }) => {
    const lines = followed.flatMap((one) => {
      const value = read(one)
      return value === undefined
        ? []
        : [`${name}{project="${escapeLabel(one.project)}"} ${value}\n`]
    })
    return `${text}# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
  }, ready)
}

function escapeLabel(text: string): string {
  return text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')
}
