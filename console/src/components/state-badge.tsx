import { Badge, Text } from '@mantine/core'
import {
  IconAlarm,
  IconAlertTriangle,
  IconBroadcast,
  IconCircleCheck,
  IconCircleX,
  IconHistory,
} from '@tabler/icons-react'
import type { KeyRow } from '../keys/queries.ts'
import { clockTime, useTimeLeft } from './text.tsx'

const teal = { color: 'teal', c: 'light-dark(#056146, var(--mantine-color-teal-2))' }
const petrol = { color: 'petrol', c: 'light-dark(#0b5f70, #7cc8da)' }
const violet = { color: 'violet', c: 'light-dark(#5a32c0, var(--mantine-color-violet-2))' }
const orange = { color: 'orange', c: 'light-dark(#8a3600, var(--mantine-color-orange-2))' }

/** How each state is shown; one that verifiers do not know of any more has no color. */
const looks = {
  active: { Icon: IconCircleCheck, variant: 'light', ...teal },
  compromised: { Icon: IconAlertTriangle, variant: 'filled', color: 'red.8' },
  spreading: { Icon: IconBroadcast, variant: 'light', ...petrol },
  current: { Icon: IconCircleCheck, variant: 'light', ...teal },
  previous: { Icon: IconHistory, variant: 'light', ...violet },
  off: { Icon: IconCircleX, variant: 'default' },
  inactive: { Icon: IconCircleX, variant: 'default' },
  open: { Icon: IconBroadcast, variant: 'light', ...petrol },
  used: { Icon: IconCircleCheck, variant: 'light', ...teal },
  expired: { Icon: IconAlarm, variant: 'light', ...orange },
  revoked: { Icon: IconCircleX, variant: 'default' },
}

export type State = keyof typeof looks

/** The state of a record that can be switched on and off; `inactive` is the word for one that is off. */
export function stateOf<Inactive extends 'inactive' | 'revoked'>(
  { active, expireTime }: { active: boolean; expireTime?: string },
  inactive: Inactive,
): 'active' | 'expired' | Inactive {
  if (active) return 'active'
  return expireTime !== undefined && Date.parse(expireTime) <= Date.now() ? 'expired' : inactive
}

/** The state as a word with an icon and a color, never cut; `detail` follows the word. */
export function StateBadge({ state, detail }: { state: State; detail?: string | undefined }) {
  const { Icon, ...style } = looks[state]
  return (
    <Badge
      {...style}
      tt="none"
      className="unshrinkable"
      leftSection={<Icon size={13} aria-hidden />}
    >
      {state}
      {detail !== undefined && ` · ${detail}`}
    </Badge>
  )
}

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

const Spreading = ({ until }: { until: string }) => (
  <StateBadge state="spreading" detail={useTimeLeft(until)} />
)
