import {
  Alert,
  type AlertProps,
  Button,
  Center,
  Group,
  List,
  Loader,
  Skeleton,
  Stack,
  Text,
  Title,
} from '@mantine/core'
import { PubringError } from '@pubring/client'
import {
  IconAlertTriangle,
  IconCircleCheck,
  IconHourglass,
  IconInfoCircle,
} from '@tabler/icons-react'
import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { signInReason } from '../session/client.ts'
import { focusAgain } from './dialog.tsx'
import { isOutage, messageOf } from './outage.ts'

export const EmptyState = (props: { title: string; children?: ReactNode; action?: ReactNode }) => (
  <Center py={56} px="md">
    <Stack align="center" gap="xs" maw={460}>
      <Text fw={650} size="lg" ta="center">
        {props.title}
      </Text>
      <Text size="md" c="dimmed" ta="center" component="div">
        {props.children}
      </Text>
      {props.action}
    </Stack>
  </Center>
)

export const MessagePage = (props: { title: string; children: ReactNode }) => (
  <>
    <PageHeader title={props.title} />
    <Text size="md">{props.children}</Text>
  </>
)

export const NotFoundPage = () => (
  <MessagePage title="Page not found">Check the address, or go to Projects.</MessagePage>
)

export const LoadingPage = () => (
  <Center mih={240}>
    <Loader role="status" aria-label="Loading" />
  </Center>
)

export const LoadingRows = ({ rows = 4 }: { rows?: number }) => (
  <Stack gap="sm" aria-busy="true" aria-label="Loading" role="status">
    {Array.from({ length: rows }, (_, row) => `row-${row}`).map((key) => (
      <Skeleton key={key} height={36} />
    ))}
  </Stack>
)

type Result<Data> = Pick<UseQueryResult<Data>, 'data' | 'error' | 'isPending'> & {
  refetch(): unknown
}

/** Two queries as one, for what needs the data of both. */
export const both = <One, Other>(one: Result<One>, other: Result<Other>): Result<[One, Other]> => ({
  data: one.data === undefined || other.data === undefined ? undefined : [one.data, other.data],
  error: one.error ?? other.error,
  isPending: one.isPending || other.isPending,
  refetch: () => Promise.all([one.refetch(), other.refetch()]),
})

/**
 * Renders the data of a query, or a placeholder of `rows` rows, or its error. Data that cannot be
 * refreshed stays, with everything that is open in it: the frame says that it is not live, or the page that
 * the session has ended.
 */
export function QueryResult<Data>(props: {
  query: Result<Data>
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
          <Title order={1} size="h2" tabIndex={-1}>
            {title}
          </Title>
          {badge}
        </Group>
        {children !== undefined && (
          <Text c="dimmed" mt={4} component="div" maw={820}>
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

export function ErrorNotice({ error, retry }: { error: unknown; retry?: () => void }) {
  const known = error instanceof PubringError ? error : undefined
  const unreachable = ['unreachable', 'timeout'].includes(known?.code ?? '')
  const title = known ? (known.problem?.title ?? 'The request failed') : 'Unexpected error'
  return (
    <Notice
      tone={unreachable ? 'warning' : 'bad'}
      title={unreachable ? 'The service cannot be reached' : title}
      role="alert"
    >
      <Details error={error} />
      {retry !== undefined && (
        <Button size="xs" variant="default" mt="sm" onClick={retry}>
          Try again
        </Button>
      )}
    </Notice>
  )
}

function Details({ error }: { error: unknown }) {
  if (!(error instanceof PubringError)) return <Text>{messageOf(error)}</Text>
  const faults = error.problem?.errors ?? []
  return (
    <>
      {faults.length > 1 ? (
        <List size="sm">
          {faults.map((fault) => (
            <List.Item key={`${fault.pointer}${fault.code}`}>{fault.detail}</List.Item>
          ))}
        </List>
      ) : (
        <Text>{messageOf(error)}</Text>
      )}
      <Group gap="md" mt={6}>
        <Text size="xs" className="mono">
          {faults[0]?.code ?? error.code}
        </Text>
        {error.requestId !== undefined && (
          <Text size="xs" className="mono">
            request {error.requestId}
          </Text>
        )}
      </Group>
    </>
  )
}

const tones = {
  good: { color: 'teal', Icon: IconCircleCheck },
  waiting: { color: 'petrol', Icon: IconHourglass },
  info: { color: 'petrol', Icon: IconInfoCircle },
  warning: { color: 'yellow', Icon: IconAlertTriangle },
  bad: { color: 'red', Icon: IconAlertTriangle },
}

type Tone = keyof typeof tones

export function Notice({ tone, ...props }: AlertProps & { tone: Tone; role?: string }) {
  const { color, Icon } = tones[tone]
  return <Alert color={color} icon={<Icon />} {...props} />
}
