import { Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** A value that matters first: its name, the value large, and what it means. */
export function Figure(props: {
  name: string
  value: string
  alarming?: boolean
  children: ReactNode
}) {
  const { name, value, alarming = false, children } = props
  return (
    <div style={{ minWidth: 0 }}>
      <Text size="xs" c="dimmed" fw={600}>
        {name}
      </Text>
      <Text className={alarming ? 'figure warning' : 'figure'}>
        {value.replace(/^./, (first) => first.toUpperCase())}
      </Text>
      <Text size="xs" c="dimmed">
        {children}
      </Text>
    </div>
  )
}
