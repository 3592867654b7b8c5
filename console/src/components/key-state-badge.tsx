import type { KeyRow } from '../keys/roles.ts'
import { StateBadge } from './state-badge.tsx'
import { useNow } from './times.tsx'

type Role = Pick<KeyRow, 'state' | 'convergedTime'>

/** The role of a key; of one that verifiers are still loading, with the time that it takes. */
export function KeyStateBadge({ row }: { row: Role }) {
  const { state, convergedTime } = row
  return state === 'spreading' && convergedTime !== undefined ? (
    <Spreading until={convergedTime} />
  ) : (
    <StateBadge state={state} />
  )
}

function Spreading({ until }: { until: string }) {
  const now = useNow(1_000)
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - now) / 1_000))
  const left = seconds > 90 ? `${Math.ceil(seconds / 60)} min` : `${seconds} s`
  return <StateBadge state="spreading" detail={left} />
}
