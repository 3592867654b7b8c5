import { Alert, Button, Group, List, Text } from '@mantine/core'
import { PubringError } from '@pubring/client'
import { IconAlertTriangle, IconCloudOff } from '@tabler/icons-react'

/** An error with the explanation, the code and the request id of the service. */
export function ErrorNotice({ error, retry }: { error: unknown; retry?: () => void }) {
  const unreachable =
    error instanceof PubringError && ['unreachable', 'timeout'].includes(error.code)
  return (
    <Alert
      color={unreachable ? 'yellow' : 'red'}
      icon={unreachable ? <IconCloudOff /> : <IconAlertTriangle />}
      title={unreachable ? 'The service cannot be reached' : titleOf(error)}
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
    ? (error.problem?.title ?? 'The request failed')
    : 'Unexpected error'
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
