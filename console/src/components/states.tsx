import { Center, Group, Loader, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ErrorNotice } from './error-notice.tsx'

/** A message in place of content that does not exist, with an action to create it. */
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

/** The placeholder of a page while its code is loading. */
export function LoadingPage() {
  return (
    <Center mih={240}>
      <Loader role="status" aria-label="Loading" />
    </Center>
  )
}

/** The placeholder of data that is loading. */
export function LoadingRows({ rows = 4 }: { rows?: number }) {
  return (
    <Stack gap="sm" aria-busy="true" aria-label="Loading" role="status">
      {Array.from({ length: rows }, (_, row) => `row-${row}`).map((key) => (
        <Skeleton key={key} height={36} />
      ))}
    </Stack>
  )
}

/** Renders the data of a query, or a placeholder of `rows` rows, or its error. */
export function QueryResult<Data>(props: {
  query: UseQueryResult<Data>
  rows?: number
  children(data: Data): ReactNode
}) {
  const { query, rows, children } = props
  if (query.isPending) return <LoadingRows {...(rows && { rows })} />
  if (query.isError) return <ErrorNotice error={query.error} retry={() => void query.refetch()} />
  return children(query.data)
}

/** The title of a page, a line about it, and its actions. */
export function PageHeader(props: { title: ReactNode; children?: ReactNode; actions?: ReactNode }) {
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
