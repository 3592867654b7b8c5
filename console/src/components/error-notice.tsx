import { Alert, Button, Group, List, Text } from '@mantine/core'
import { IconAlertTriangle, IconCloudOff } from '@tabler/icons-react'
import { PubringError } from '../../../client/src/index.ts'

/** An error in the words of the service: what is wrong, what to do, and what to quote. */
export function ErrorNotice(props: { error: unknown; retry?: () => void }) {
  const { error, retry } = props
  const away = error instanceof PubringError && ['unreachable', 'timeout'].includes(error.code)
  return (
    <Alert
      color={away ? 'yellow' : 'red'}
      icon={away ? <IconCloudOff /> : <IconAlertTriangle />}
      title={away ? 'The service cannot be reached' : titleOf(error)}
      role="alert"
    >
      <Details error={error} />
      {retry !== undefined && (
        <Button size="xs" variant="default" mt="sm" onClick={retry}>
          Try again
        </Button>
      )}
    </Alert>
  )
}

function titleOf(error: unknown): string {
  return error instanceof PubringError
    ? (error.problem?.title ?? 'That did not work')
    : 'A fault of this page'
}

function Details({ error }: { error: unknown }) {
  if (!(error instanceof PubringError)) {
    return <Text size="sm">{error instanceof Error ? error.message : 'Reload the page.'}</Text>
  }
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
        <Text size="sm">{error.problem?.detail ?? error.message}</Text>
      )}
      <Group gap="md" mt={6}>
        <Text size="xs" c="dimmed" className="mono">
          {faults[0]?.code ?? error.code}
        </Text>
        {error.requestId !== undefined && (
          <Text size="xs" c="dimmed" className="mono">
            request {error.requestId}
          </Text>
        )}
      </Group>
    </>
  )
}
