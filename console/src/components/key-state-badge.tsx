import { Text } from '@mantine/core'
import type { KeyRow } from '../keys/states.ts'
import { StateBadge } from './state-badge.tsx'
import { clockTime, useNow } from './times.tsx'

type Row = Pick<KeyRow, 'state' | 'convergedTime'>

/** The state of a key and, until all verifiers know it, the time that it takes. */
export function KeyStateBadge({ row: { state, convergedTime } }: { row: Row }) {
  if (convergedTime === undefined) return <StateBadge state={state} />
  if (state === 'spreading') return <Spreading until={convergedTime} />
  return (
    <>
      <StateBadge state={state} />
      <Text size="xs" c="dimmed" mt={2}>
        rejected by {clockTime(convergedTime)} by verifiers that honor the cache headers
      </Text>
    </>
  )
}

function Spreading({ until }: { until: string }) {
  return <StateBadge state="spreading" detail={useTimeLeft(until)} />
}

/** The time until then, such as `52 s`. */
export function useTimeLeft(until: string): string {
  const now = useNow(1_000)
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - now) / 1_000))
  return seconds > 90 ? `${Math.ceil(seconds / 60)} min` : `${seconds} s`
}
