import { Center, Group, Loader, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { signInReason } from '../session/client.ts'
import { focusAgain } from './dialog.tsx'
import { ErrorNotice } from './error-notice.tsx'
import { isOutage } from './outage.ts'

/** A message in place of content that does not exist, with an action to create it. */
export function EmptyState(props: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <Center py={56} px="md">
      <Stack align="center" gap="xs" maw={460}>
        <Text fw={650} size="lg" ta="center" style={{ overflowWrap: 'anywhere' }}>
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

/** A page that has only a message. */
export function MessagePage(props: { title: string; children: ReactNode }) {
  return (
    <>
      <PageHeader title={props.title} />
      <Text>{props.children}</Text>
    </>
  )
}

export function NotFoundPage() {
  return <MessagePage title="Page not found">Check the address, or go to Projects.</MessagePage>
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

/**
 * Renders the data of a query, or a placeholder of `rows` rows, or its error. Data that cannot be
 * refreshed stays, with everything that is open in it: the frame says that it is not live, or the page that
 * the session has ended.
 */
export function QueryResult<Data>(props: {
  query: UseQueryResult<Data>
  rows?: number
  children(data: Data): ReactNode
}) {
  const { query, rows, children } = props
  const { data, error } = query
  const isKept = error === null || isOutage(error) || signInReason(error) === 'ended'
  if (data !== undefined && isKept) return children(data)
  if (query.isPending) return <LoadingRows {...(rows && { rows })} />
  return <ErrorNotice error={error} retry={() => void query.refetch()} />
}

/**
 * The heading of a page, a line about it, and its actions. `name` names the page in the browser; `above`
 * says where it belongs, and `badge` stands beside the title.
 */
export function PageHeader(props: {
  title: string
  name?: string
  above?: ReactNode
  badge?: ReactNode
  children?: ReactNode
  actions?: ReactNode
}) {
  const { title, name = title, above, badge, children, actions } = props
  usePageTitle(name)
  // After a link or button of the previous page took the focus with it.
  useEffect(() => focusAgain(null), [])
  return (
    <Group justify="space-between" align="flex-start" mb="lg" gap="md">
      <div style={{ minWidth: 0 }}>
        {above}
        <Group gap="sm">
          <Title order={1} size="h2" tabIndex={-1} style={{ overflowWrap: 'anywhere' }}>
            {title}
          </Title>
          {badge}
        </Group>
        {children !== undefined && (
          <Text
            size="sm"
            c="dimmed"
            mt={4}
            component="div"
            maw={820}
            style={{ overflowWrap: 'anywhere' }}
          >
            {children}
          </Text>
        )}
      </div>
      <Group gap="sm">{actions}</Group>
    </Group>
  )
}

/** Names the page in the tab and the history of the browser, and for screen readers. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Pubring`
  }, [title])
}
