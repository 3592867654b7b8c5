import type { ApiKey } from '@pubring/client'
import { useState } from 'react'
import { RowName, TwoLines } from '../../components/data-table.tsx'
import { Facts } from '../../components/facts.tsx'
import { ProjectName } from '../../components/project-name.tsx'
import { SecretDialog } from '../../components/secret-dialog.tsx'
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
        <SecretDialog
          title="API key created"
          name="API key"
          secret={secret}
          onClose={() => setSecret(undefined)}
        >
          The API key is shown only once: Pubring stores only its hash. Keep it in a secret store,
          not in code, chats or tickets. The command line reads it from PUBRING_API_KEY.
        </SecretDialog>
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
