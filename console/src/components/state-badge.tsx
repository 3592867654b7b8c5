import { Badge } from '@mantine/core'
import { IconAlarm, IconCircleCheck, IconCircleX } from '@tabler/icons-react'

const icons = {
  active: IconCircleCheck,
  inactive: IconCircleX,
  expired: IconAlarm,
  revoked: IconCircleX,
}

/** The state of a JWT key or an API key; `inactive` is the word for a deactivated one. */
export function stateOf<Inactive extends 'inactive' | 'revoked'>(
  { active, expireTime }: { active: boolean; expireTime?: string },
  inactive: Inactive,
): 'active' | 'expired' | Inactive {
  if (active) return 'active'
  return expireTime !== undefined && Date.parse(expireTime) <= Date.now() ? 'expired' : inactive
}

/** The state as a word with an icon and a color, never cut. */
export function StateBadge({ state }: { state: keyof typeof icons }) {
  const Icon = icons[state]
  const style =
    state === 'active'
      ? {
          variant: 'light',
          color: 'teal',
          c: 'light-dark(#056146, var(--mantine-color-teal-2))',
        }
      : { variant: 'default' }
  return (
    <Badge
      {...style}
      tt="none"
      className="unshrinkable"
      leftSection={<Icon size={13} aria-hidden />}
    >
      {state}
    </Badge>
  )
}
