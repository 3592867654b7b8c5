import { Center, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

/** Where there is nothing yet: what it is, and how to begin. */
export function EmptyState(props: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <Center py={56} px="md">
      <Stack align="center" gap="xs" maw={460}>
        <Text fw={650} size="lg" ta="center">
          {props.title}
        </Text>
        <Text c="dimmed" ta="center" component="div">
          {props.children}
        </Text>
        {props.action}
      </Stack>
    </Center>
  )
}

/** The room of a list that is on its way. */
export function LoadingRows({ rows = 4 }: { rows?: number }) {
  return (
    <Stack gap="sm" aria-busy="true" aria-label="Loading" role="status">
      {Array.from({ length: rows }, (_, row) => `row-${row}`).map((key) => (
        <Skeleton key={key} height={36} />
      ))}
    </Stack>
  )
}

/** The head of a page: its name, a line about it, and what can be done. */
export function PageHead(props: { title: ReactNode; children?: ReactNode; actions?: ReactNode }) {
  return (
    <Group justify="space-between" align="flex-start" mb="lg" gap="md">
      <div>
        <Title order={1} size="h2">
          {props.title}
        </Title>
        {props.children !== undefined && (
          <Text c="dimmed" mt={4} component="div" maw={720}>
            {props.children}
          </Text>
        )}
      </div>
      <Group gap="sm">{props.actions}</Group>
    </Group>
  )
}
