import { useQueryClient } from '@tanstack/react-query'
import type { ApiKey, ApiKeyUpdate } from '../../../../client/src/index.ts'
import { Fact, Facts } from '../../components/facts.tsx'
import { StateBadge, stateOf } from '../../components/state-badge.tsx'
import { OptionalTime, RelativeTime } from '../../components/times.tsx'
import { UserText, withVisibleControls } from '../../components/user-text.tsx'
import { ActionDialog } from '../../forms/action-form.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { toRole } from '../../forms/role-field.tsx'
import { fromExpiryInput } from '../../forms/time-field.tsx'
import { useSession } from '../../session/context.tsx'
import { ApiKeyFields, type ApiKeyInput, toInput } from './fields.tsx'

export const apiKeyActions = ['edit', 'revoke', 'reactivate', 'delete'] as const
export type ApiKeyAction = (typeof apiKeyActions)[number]

/** `own`: the API key that the user is signed in with, if it is one. */
type DialogProps = { apiKey: ApiKey; own: ApiKey | undefined; onClose(): void }

/** The dialog for an action on an API key. */
export function ApiKeyDialog({ action, ...props }: DialogProps & { action: ApiKeyAction }) {
  if (action === 'edit') return <EditApiKey {...props} />
  if (action === 'delete') return <DeleteApiKey {...props} />
  return <SetActive {...props} active={action === 'reactivate'} />
}

/** “name”, as plain text. */
const quoted = ({ name }: ApiKey) => `“${withVisibleControls(name)}”`

function useApiKeyUpdate({ id }: ApiKey, body: ApiKeyUpdate) {
  const { client } = useSession()
  const queries = useQueryClient()
  return {
    request: { method: 'PATCH', path: `/api-keys/${id}`, body } as const,
    run: async () => {
      await client.apiKeys.update(id, body)
      await queries.invalidateQueries({ queryKey: ['api-keys'] })
    },
  }
}

function SetActive({ apiKey, onClose, active }: DialogProps & { active: boolean }) {
  const update = useApiKeyUpdate(apiKey, { active })
  const action = active ? 'Reactivate' : 'Revoke'
  return (
    <ActionDialog
      title={`${action} ${quoted(apiKey)}?`}
      action={action}
      danger={!active}
      onClose={onClose}
      {...update}
    >
      <ApiKeyIdentity apiKey={apiKey} />
      {active
        ? 'Requests with this API key will be accepted again.'
        : 'Requests with this API key will be rejected immediately. You can reactivate it.'}
    </ActionDialog>
  )
}

function DeleteApiKey({ apiKey, onClose }: DialogProps) {
  const { client } = useSession()
  const queries = useQueryClient()
  return (
    <ActionDialog
      title={`Delete ${quoted(apiKey)}?`}
      action="Delete permanently"
      danger
      request={{ method: 'DELETE', path: `/api-keys/${apiKey.id}` }}
      run={async () => {
        await client.apiKeys.delete(apiKey.id)
        await queries.invalidateQueries({ queryKey: ['api-keys'] })
      }}
      onClose={onClose}
    >
      <ApiKeyIdentity apiKey={apiKey} />
      Requests with this API key will be rejected immediately. Its history stays in the ledger.
    </ActionDialog>
  )
}

/** What tells an API key from others, for the confirmation of an action. */
function ApiKeyIdentity({ apiKey }: { apiKey: ApiKey }) {
  return (
    <Facts name="The API key">
      <Fact name="Name">
        <UserText>{apiKey.name}</UserText>
      </Fact>
      <Fact name="State">
        <StateBadge state={stateOf(apiKey, 'revoked')} />
      </Fact>
      <Fact name="Begins with">
        <span className="mono">{apiKey.prefix}…</span>
      </Fact>
      <Fact name="Role">{apiKey.role}</Fact>
      <Fact name="Created">
        <RelativeTime time={apiKey.createTime} />
      </Fact>
      <Fact name="Last used">
        <OptionalTime time={apiKey.lastUseTime} />
      </Fact>
    </Facts>
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

function EditApiKey({ apiKey, own, onClose }: DialogProps) {
  const draft = `api-key.${apiKey.id}`
  const [input, change] = useDraft(draft, toInput(apiKey))
  const body = changedMembers(apiKey, input)
  const update = useApiKeyUpdate(apiKey, body)
  return (
    <ActionDialog
      title={`Edit ${quoted(apiKey)}`}
      action="Save"
      missing={[body.name === '' && 'a name', Object.keys(body).length === 0 && 'a change']}
      draft={draft}
      onClose={onClose}
      {...update}
    >
      <ApiKeyFields input={input} onChange={change} own={own} isOwn={apiKey.id === own?.id} />
    </ActionDialog>
  )
}
