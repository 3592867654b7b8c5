import { Stack } from '@mantine/core'
import type { ApiKey, ApiKeyUpdate } from '@pubring/client'
import { useState } from 'react'
import { RowName, TwoLines } from '../../components/data-table.tsx'
import { ProjectName } from '../../components/project-name.tsx'
import { SecretDialog } from '../../components/secret-dialog.tsx'
import { localTime, OptionalTime, quoted } from '../../components/text.tsx'
import { ActionDialog, useDraft } from '../../forms/action-form.tsx'
import { RoleField, toRole } from '../../forms/choice-field.tsx'
import { LabelField } from '../../forms/label-field.tsx'
import { ProjectField } from '../../forms/project-field.tsx'
import { fieldOf } from '../../forms/text-fields.tsx'
import { ExpiryField, fromExpiryInput, toExpiryInput } from '../../forms/time-field.tsx'
import { useSession } from '../../session/session.tsx'
import { type ManagedKind, ManagedPage } from '../managed-page.tsx'

const apiKeys: ManagedKind<ApiKey> = {
  path: 'api-keys',
  operations: (client) => client.apiKeys,
  words: { activate: 'Reactivate', deactivate: 'Revoke', inactive: 'revoked' },
  name: 'The API key',
  consequences: {
    activate: 'Requests with this API key will be accepted again.',
    deactivate: 'Requests with this API key will be rejected immediately. You can reactivate it.',
    delete:
      'Requests with this API key will be rejected immediately. Its history stays in the ledger.',
  },
}

export function ApiKeysPage() {
  const { self } = useSession()
  const [secret, setSecret] = useState<string>()
  const isOwn = ({ id }: ApiKey) => id === self.apiKeyId
  return (
    <>
      <ManagedPage
        kind={apiKeys}
        title="API keys"
        description="Create one for each caller, with the lowest role it needs. Revocation takes effect with the next request. Access rules, and the registration links on the page of a project, give access too."
        newLabel="New API key"
        columns={[
          {
            title: 'Name',
            cell: (row) => (
              <TwoLines below={`${row.prefix}…${isOwn(row) ? own : ''}`}>
                <RowName>{row.name}</RowName>
              </TwoLines>
            ),
          },
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

/** `own`: the API key that the user is signed in with, if it is one. */
type DialogProps = { own: ApiKey | undefined; onClose(): void }

const newKeyDraft = 'new-api-key'

// Long because its fields share the input of the form.
function CreateApiKey(props: DialogProps & { onCreated(secret: string): void }) {
  const { own, onClose, onCreated } = props
  // The new API key must not outlive the one that creates it.
  const expiry = toExpiryInput(own?.expireTime)
  const initial = { name: '', role: 'reader' as string, expiry, project: '' }
  const [input, setInput] = useDraft(newKeyDraft, initial)
  const expireTime = fromExpiryInput(input.expiry)
  const project = input.project.trim()
  const body = {
    name: input.name.trim(),
    role: toRole(input.role),
    ...(project === '' ? {} : { project }),
    ...(expireTime === undefined ? {} : { expireTime }),
  }
  return (
    <ActionDialog
      title="New API key"
      action="Create API key"
      purpose="Create an API key"
      missing={[body.name === '' && 'a name']}
      draft={newKeyDraft}
      changes={[['api-keys']]}
      send={(client) => client.apiKeys.create(body)}
      onSent={({ apiKey }) => onCreated(apiKey)}
      onClose={onClose}
    >
      <ApiKeyFields input={input} onChange={setInput} own={own} />
      <ProjectField
        description="Limits access to one project, by name or id. Leave empty for all projects."
        placeholder="all projects"
        {...fieldOf(input, setInput, 'project')}
      />
    </ActionDialog>
  )
}

/** The changed members; an expiry that was not edited keeps its seconds. */
function changedMembers(apiKey: ApiKey, input: ApiKeyInput): ApiKeyUpdate {
  const name = input.name.trim()
  return {
    ...(name === apiKey.name ? {} : { name }),
    ...(input.role === apiKey.role ? {} : { role: toRole(input.role) }),
    ...(input.expiry === toInput(apiKey).expiry
      ? {}
      : { expireTime: fromExpiryInput(input.expiry) ?? null }),
  }
}

function EditApiKey({ apiKey, own, onClose }: DialogProps & { apiKey: ApiKey }) {
  const { id, name } = apiKey
  const draft = `api-key.${id}`
  const [input, setInput] = useDraft(draft, toInput(apiKey))
  const body = changedMembers(apiKey, input)
  return (
    <ActionDialog
      title={`Edit ${quoted(name)}`}
      action="Save"
      missing={[body.name === '' && 'a name', Object.keys(body).length === 0 && 'a change']}
      draft={draft}
      changes={[['api-keys']]}
      send={(client, confirmation) => client.apiKeys.update(id, body, confirmation)}
      onClose={onClose}
    >
      <ApiKeyFields input={input} onChange={setInput} own={own} isOwn={id === own?.id} />
    </ActionDialog>
  )
}

type ApiKeyInput = { name: string; role: string; expiry: string }

const toInput = ({ name, role, expireTime }: ApiKey): ApiKeyInput => ({
  name,
  role,
  expiry: toExpiryInput(expireTime),
})

type FieldsProps = {
  input: ApiKeyInput
  onChange(part: Partial<ApiKeyInput>): void
  own: ApiKey | undefined
  isOwn?: boolean
}

const ApiKeyFields = ({ input, onChange, own, isOwn = false }: FieldsProps) => (
  <Stack>
    <LabelField
      label="Name"
      description="Who or what uses the API key."
      placeholder="deploy pipeline"
      {...fieldOf(input, onChange, 'name')}
      autoFocus
    />
    <RoleField
      role={toRole(input.role)}
      onRole={(role) => onChange({ role })}
      fixed={
        isOwn ? 'You cannot change the role of the API key you are signed in with.' : undefined
      }
    />
    <ExpiryField
      {...fieldOf(input, onChange, 'expiry')}
      description={expiryDescription(own, isOwn)}
      disabled={isOwn && own?.expireTime !== undefined}
    />
  </Stack>
)

function expiryDescription(own: ApiKey | undefined, isOwn: boolean): string {
  const { expireTime } = own ?? {}
  if (expireTime === undefined) return 'Leave empty for no expiry.'
  if (isOwn) return 'You cannot change the expiry of the API key you are signed in with.'
  return `Your own API key expires at ${localTime(expireTime)}: one that you create or extend must expire by then.`
}
