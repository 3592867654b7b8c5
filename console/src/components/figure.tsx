import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { capitalized } from './capitalized.ts'

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
      <Text className={alarming ? 'figure warning' : 'figure'}>{capitalized(value)}</Text>
      <Text size="xs" c="dimmed">
        {children}
      </Text>
    </div>
  )
}
