import { Card, Group, Title } from '@mantine/core'
import { type ReactNode, useId } from 'react'

/** A titled part of a page. */
export function Section(props: { title: string; actions?: ReactNode; children: ReactNode }) {
  const id = useId()
  return (
    <Card withBorder padding="md" component="section" aria-labelledby={id}>
      <Group justify="space-between" mb="sm" gap="xs">
        <Title order={2} size="h5" id={id}>
          {props.title}
        </Title>
        {props.actions}
      </Group>
      {props.children}
    </Card>
  )
}
