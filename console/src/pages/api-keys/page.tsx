import { Button, Card, Menu, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiKey, Self } from '../../../../client/src/index.ts'
import { ActionsMenu } from '../../components/actions-menu.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { DataTable, RowName } from '../../components/data-table.tsx'
import { ProjectName } from '../../components/project-name.tsx'
import { StateBadge, stateOf } from '../../components/state-badge.tsx'
import { MessagePage, PageHeader, QueryResult } from '../../components/states.tsx'
import { OptionalTime } from '../../components/times.tsx'
import { useOpenDialog } from '../../forms/drafts.ts'
import { useSession } from '../../session/context.tsx'
import { useRights } from '../../session/rights.ts'
import { CreateApiKey } from './create-dialog.tsx'
import { type ApiKeyAction, ApiKeyDialog, apiKeyActions } from './dialogs.tsx'
import { SecretDialog } from './secret-dialog.tsx'

export function ApiKeysPage() {
  const { client, self } = useSession()
  const { mayManage } = useRights()
  const [adding, setAdding] = useOpenDialog('api-keys', ['create'])
  const [secret, setSecret] = useState<string>()
  const query = useQuery({
    queryKey: ['api-keys'],
    queryFn: ({ signal }) => client.apiKeys.list({ signal }),
    enabled: mayManage,
  })
  if (!mayManage) {
    return (
      <MessagePage title="API keys">Only an admin of all projects can manage API keys.</MessagePage>
    )
  }
  return (
    <>
      <PageHeader
        title="API keys"
        actions={
          <Button
            leftSection={<IconPlus size={16} />}
            onClick={() => setAdding({ action: 'create', id: '' })}
          >
            New API key
          </Button>
        }
      >
        Create one for each caller, with the lowest role it needs. Revocation takes effect with the
        next request.
      </PageHeader>
      <QueryResult query={query}>{(apiKeys) => <ApiKeyTable apiKeys={apiKeys} />}</QueryResult>
      <CurlHint path="/api-keys" />
      {adding !== undefined && query.data !== undefined && (
        <CreateApiKey
          own={findOwn(query.data, self)}
          onClose={() => setAdding(undefined)}
          onCreated={(created) => {
            setAdding(undefined)
            setSecret(created)
          }}
        />
      )}
      {secret !== undefined && (
        <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />
      )}
    </>
  )
}

/** The API key that the user is signed in with, if it is one. */
function findOwn(apiKeys: ApiKey[] | undefined, { apiKeyId }: Self): ApiKey | undefined {
  return apiKeys?.find(({ id }) => id === apiKeyId)
}

function ApiKeyTable({ apiKeys }: { apiKeys: ApiKey[] }) {
  const { self } = useSession()
  const [open, setOpen] = useOpenDialog('api-key', apiKeyActions)
  const apiKey = apiKeys.find(({ id }) => id === open?.id)
  return (
    <Card withBorder padding="sm" mb="sm">
      <DataTable
        rows={apiKeys}
        columns={[
          { title: 'Status', cell: (row) => <StateBadge state={stateOf(row, 'revoked')} /> },
          { title: 'Name', cell: (row) => <ApiKeyName apiKey={row} /> },
          { title: 'Role', cell: ({ role }) => role },
          {
            title: 'Project',
            cell: ({ projectId }) =>
              projectId === undefined ? 'all projects' : <ProjectName id={projectId} />,
          },
          { title: 'Last used', cell: ({ lastUseTime }) => <OptionalTime time={lastUseTime} /> },
          {
            title: 'Expires',
            cell: ({ active, expireTime }) => <OptionalTime time={expireTime} breaks={active} />,
          },
          {
            title: 'Actions',
            cell: (row) => (
              <ApiKeyActions apiKey={row} onAction={(action) => setOpen({ action, id: row.id })} />
            ),
          },
        ]}
      />
      {open !== undefined && apiKey !== undefined && (
        <ApiKeyDialog
          action={open.action}
          apiKey={apiKey}
          own={findOwn(apiKeys, self)}
          onClose={() => setOpen(undefined)}
        />
      )}
    </Card>
  )
}

function ApiKeyName({ apiKey: { id, name, prefix } }: { apiKey: ApiKey }) {
  const { self } = useSession()
  return (
    <div>
      <RowName>{name}</RowName>
      <Text size="xs" c="dimmed">
        <span className="mono">{prefix}…</span>
        {id === self.apiKeyId &&
          ' · you are signed in with it: sign in with another one to revoke it'}
      </Text>
    </div>
  )
}

function ApiKeyActions(props: { apiKey: ApiKey; onAction(action: ApiKeyAction): void }) {
  const { apiKey, onAction } = props
  const { self } = useSession()
  const state = stateOf(apiKey, 'revoked')
  const frequent = { label: 'Edit', onClick: () => onAction('edit') }
  if (apiKey.id === self.apiKeyId) return <ActionsMenu name={apiKey.name} frequent={frequent} />
  return (
    <ActionsMenu name={apiKey.name} frequent={frequent}>
      {state !== 'expired' && (
        <Menu.Item onClick={() => onAction(apiKey.active ? 'revoke' : 'reactivate')}>
          {apiKey.active ? 'Revoke' : 'Reactivate'}
        </Menu.Item>
      )}
      <Menu.Item className="warning" onClick={() => onAction('delete')}>
        Delete
      </Menu.Item>
    </ActionsMenu>
  )
}
