import { Button, Card, Menu, Table, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiKey } from '../../../../client/src/index.ts'
import { ActionsMenu } from '../../components/actions-menu.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { StateBadge, stateOf } from '../../components/state-badge.tsx'
import { EmptyState, LoadingRows, PageHead } from '../../components/states.tsx'
import { RelativeTime } from '../../components/times.tsx'
import { useProject } from '../../keys/queries.ts'
import { useRights, useSession } from '../../session/context.tsx'
import { NewApiKey } from './create-dialog.tsx'
import { type ApiKeyAction, ApiKeyDialog } from './dialogs.tsx'

/** Who may call the service, with which rights. */
export function ApiKeysPage() {
  const { client } = useSession()
  const { mayManage } = useRights()
  const [adding, setAdding] = useState(false)
  const apiKeys = useQuery({
    queryKey: ['api-keys'],
    queryFn: ({ signal }) => client.apiKeys.list({ signal }),
    enabled: mayManage,
  })
  if (!mayManage) {
    return (
      <EmptyState title="For admins">API keys are managed by an admin of all projects.</EmptyState>
    )
  }
  return (
    <>
      <PageHead
        title="API keys"
        actions={
          <Button leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
            New API key
          </Button>
        }
      >
        Give each caller its own, with the least role that does. Revoking one holds from the next
        request on.
      </PageHead>
      {apiKeys.isPending && <LoadingRows />}
      {apiKeys.isError && (
        <ErrorNotice error={apiKeys.error} retry={() => void apiKeys.refetch()} />
      )}
      {apiKeys.isSuccess && (
        <Card withBorder padding="sm" mb="sm">
          <ApiKeyTable apiKeys={apiKeys.data} />
        </Card>
      )}
      <CurlHint path="/api-keys" />
      {adding && <NewApiKey onClose={() => setAdding(false)} />}
    </>
  )
}

function ApiKeyTable({ apiKeys }: { apiKeys: ApiKey[] }) {
  const [open, setOpen] = useState<{ action: ApiKeyAction; apiKey: ApiKey }>()
  return (
    <>
      <Table className="cards" verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>State</Table.Th>
            <Table.Th>Name</Table.Th>
            <Table.Th>Role</Table.Th>
            <Table.Th>For</Table.Th>
            <Table.Th>Last used</Table.Th>
            <Table.Th>Expires</Table.Th>
            <Table.Th aria-label="Actions" />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {apiKeys.map((apiKey) => (
            <Row
              key={apiKey.id}
              apiKey={apiKey}
              onAction={(action) => setOpen({ action, apiKey })}
            />
          ))}
        </Table.Tbody>
      </Table>
      {open !== undefined && <ApiKeyDialog {...open} onClose={() => setOpen(undefined)} />}
    </>
  )
}

function Row({ apiKey, onAction }: { apiKey: ApiKey; onAction(action: ApiKeyAction): void }) {
  const { self } = useSession()
  const { id, name, prefix, role, projectId, lastUseTime, expireTime } = apiKey
  return (
    <Table.Tr>
      <Table.Td data-label="State">
        <StateBadge state={stateOf(apiKey, 'revoked')} />
      </Table.Td>
      <Table.Td data-label="Name">
        <div>
          <Text fw={600} inherit style={{ overflowWrap: 'anywhere' }}>
            {name}
          </Text>
          <Text size="xs" c="dimmed">
            <span className="mono">{prefix}…</span>
            {id === self.id && ' · the one you are using'}
          </Text>
        </div>
      </Table.Td>
      <Table.Td data-label="Role">{role}</Table.Td>
      <Table.Td data-label="For">
        {projectId === undefined ? 'all projects' : <ProjectName id={projectId} />}
      </Table.Td>
      <Table.Td data-label="Last used">
        {lastUseTime === undefined ? 'never' : <RelativeTime time={lastUseTime} />}
      </Table.Td>
      <Table.Td data-label="Expires">
        {expireTime === undefined ? 'never' : <RelativeTime time={expireTime} />}
      </Table.Td>
      <Table.Td data-label="Actions">
        <Actions apiKey={apiKey} onAction={onAction} />
      </Table.Td>
    </Table.Tr>
  )
}

function Actions({ apiKey, onAction }: { apiKey: ApiKey; onAction(action: ApiKeyAction): void }) {
  const { self } = useSession()
  const own = apiKey.id === self.id
  const state = stateOf(apiKey, 'revoked')
  return (
    <ActionsMenu of={apiKey.name}>
      <Menu.Item onClick={() => onAction('edit')}>Change</Menu.Item>
      <Menu.Divider />
      {own ? (
        <Menu.Label>You are using it: revoke it with another one</Menu.Label>
      ) : (
        <>
          {state !== 'expired' && (
            <Menu.Item onClick={() => onAction(apiKey.active ? 'revoke' : 'restore')}>
              {apiKey.active ? 'Revoke' : 'Make active again'}
            </Menu.Item>
          )}
          <Menu.Item color="red" onClick={() => onAction('delete')}>
            Delete
          </Menu.Item>
        </>
      )}
    </ActionsMenu>
  )
}

function ProjectName({ id }: { id: string }) {
  const project = useProject(id)
  return <>{project.data?.name ?? `${id.slice(0, 8)}…`}</>
}
