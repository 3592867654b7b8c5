import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import type { ApiKey } from '@pubring/client'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { CopyField } from '../../components/copy.tsx'
import { RowName, TwoLines } from '../../components/data-table.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { ProjectName } from '../../components/project-name.tsx'
import { StateBadge, stateOf } from '../../components/state-badge.tsx'
import { OptionalTime, RelativeTime } from '../../components/times.tsx'
import { UserText } from '../../components/user-text.tsx'
import { useSession } from '../../session/context.tsx'
import { type ManagedKind, ManagedPage } from '../managed-page.tsx'
import { CreateApiKey, EditApiKey } from './dialogs.tsx'

const apiKeys: ManagedKind<ApiKey> = {
  path: 'api-keys',
  operations: (client) => client.apiKeys,
  words: { activate: 'Reactivate', deactivate: 'Revoke', inactive: 'revoked' },
  facts: (apiKey) => <ApiKeyIdentity apiKey={apiKey} />,
  consequences: {
    activate: 'Requests with this API key will be accepted again.',
    deactivate: 'Requests with this API key will be rejected immediately. You can reactivate it.',
    delete:
      'Requests with this API key will be rejected immediately. Its history stays in the ledger.',
  },
}

/** All API keys, and the secret of a new one, once. */
export function ApiKeysPage() {
  const { self } = useSession()
  const [secret, setSecret] = useState<string>()
  const isOwn = ({ id }: ApiKey) => id === self.apiKeyId
  return (
    <>
      <ManagedPage
        kind={apiKeys}
        title="API keys"
        description="Create one for each caller, with the lowest role it needs. Revocation takes effect with the next request."
        newLabel="New API key"
        columns={[
          { title: 'Name', cell: (row) => <ApiKeyName apiKey={row} isOwn={isOwn(row)} /> },
          { title: 'Role', cell: ({ role }) => role },
          { title: 'Project', cell: ({ projectId }) => <ProjectName id={projectId} /> },
          { title: 'Last used', cell: ({ lastUseTime }) => <OptionalTime time={lastUseTime} /> },
          {
            title: 'Expires',
            cell: ({ active, expireTime }) => <OptionalTime time={expireTime} breaks={active} />,
          },
        ]}
        ownActions={[{ action: 'edit', label: 'Edit' }]}
        isFixed={isOwn}
        dialog={({ row, rows, onClose }) => {
          const shared = { own: rows.find(isOwn), onClose }
          if (row !== undefined) return <EditApiKey apiKey={row} {...shared} />
          return <CreateApiKey {...shared} onCreated={setSecret} />
        }}
      />
      {secret !== undefined && (
        <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />
      )}
    </>
  )
}

const own = ' · you are signed in with it: sign in with another one to revoke it'

function ApiKeyName({ apiKey: { name, prefix }, isOwn }: { apiKey: ApiKey; isOwn: boolean }) {
  return (
    <TwoLines below={`${prefix}…${isOwn ? own : ''}`}>
      <RowName>{name}</RowName>
    </TwoLines>
  )
}

/** The facts that tell an API key from others, for the confirmation of an action. */
function ApiKeyIdentity({ apiKey }: { apiKey: ApiKey }) {
  return (
    <Facts
      name="The API key"
      facts={{
        Name: <UserText>{apiKey.name}</UserText>,
        State: <StateBadge state={stateOf(apiKey, 'revoked')} />,
        'Begins with': <span className="mono">{apiKey.prefix}…</span>,
        Role: apiKey.role,
        Created: <RelativeTime time={apiKey.createTime} />,
        'Last used': <OptionalTime time={apiKey.lastUseTime} />,
      }}
    />
  )
}

/**
 * Shows the secret of a new API key, once. It closes only after the secret was copied, or the user
 * said so; the browser asks before it leaves the page.
 */
function SecretDialog({ secret, onClose }: { secret: string; onClose(): void }) {
  const [copied, setCopied] = useState(false)
  const [asked, setAsked] = useState(false)
  useEffect(() => {
    if (copied) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [copied])
  return (
    <Dialog
      onClose={() => (copied ? onClose() : setAsked(true))}
      title="API key created"
      closeOnClickOutside={false}
      size="lg"
    >
      <Stack>
        <Alert color="yellow" icon={<IconAlertTriangle />} title="Copy it now">
          The API key is shown only once: Pubring stores only its hash. Keep it in a secret store,
          not in code, chats or tickets. The command line reads it from PUBRING_API_KEY.
        </Alert>
        <CopyField label="API key" value={secret} onCopied={() => setCopied(true)} />
        {asked && !copied && (
          <Text className="warning" fw={600} role="alert">
            Not copied yet. Copy the API key, or confirm that you have it: it is not shown again.
          </Text>
        )}
        <Group justify="flex-end">
          <Button onClick={onClose} variant={copied ? 'filled' : 'default'}>
            {copied ? 'Close' : 'I have copied it'}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
