import { Badge } from '@mantine/core'
import { IconAlarm, IconCircleCheck, IconCircleX } from '@tabler/icons-react'

const icons = {
  active: IconCircleCheck,
  off: IconCircleX,
  expired: IconAlarm,
  revoked: IconCircleX,
}

/** The state of a key or an API key; `off` is what it is called where it is switched off. */
export function stateOf<Off extends 'off' | 'revoked'>(
  { active, expireTime }: { active: boolean; expireTime?: string },
  off: Off,
): 'active' | 'expired' | Off {
  if (active) return 'active'
  return expireTime !== undefined && Date.parse(expireTime) <= Date.now() ? 'expired' : off
}

/** The state of a key or an API key, in a word, an icon and a colour. */
export function StateBadge({ state }: { state: keyof typeof icons }) {
  const Icon = icons[state]
  const look =
    state === 'active'
      ? {
          variant: 'light',
          color: 'teal',
          c: 'light-dark(#056146, var(--mantine-color-teal-2))',
        }
      : { variant: 'default' }
  return (
    <Badge {...look} tt="none" leftSection={<Icon size={13} aria-hidden />}>
      {state}
    </Badge>
  )
}
