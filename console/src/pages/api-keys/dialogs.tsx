import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiKey, ApiKeyUpdate } from '../../../../client/src/index.ts'
import { ActionDialog } from '../../components/action-form.tsx'
import { fromExpiryInput } from '../../components/expiry-field.tsx'
import { useSession } from '../../session/context.tsx'
import { ApiKeyFields, type ApiKeyInput, toInput } from './fields.tsx'

export type ApiKeyAction = 'edit' | 'revoke' | 'reactivate' | 'delete'

type DialogProps = { apiKey: ApiKey; onClose(): void }

/** The dialog for an action on an API key. */
export function ApiKeyDialog({ action, ...props }: DialogProps & { action: ApiKeyAction }) {
  if (action === 'edit') return <EditApiKey {...props} />
  if (action === 'delete') return <DeleteApiKey {...props} />
  return <SetActive {...props} active={action === 'reactivate'} />
}

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
      title={`${action} “${apiKey.name}”?`}
      action={action}
      danger={!active}
      onClose={onClose}
      {...update}
    >
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
      title={`Delete “${apiKey.name}”?`}
      action="Delete permanently"
      danger
      request={{ method: 'DELETE', path: `/api-keys/${apiKey.id}` }}
      run={async () => {
        await client.apiKeys.delete(apiKey.id)
        await queries.invalidateQueries({ queryKey: ['api-keys'] })
      }}
      onClose={onClose}
    >
      Requests with this API key will be rejected immediately. Its history stays in the ledger.
    </ActionDialog>
  )
}

/** The changed members; an expiry that was not edited keeps its seconds. */
function changedMembers(apiKey: ApiKey, input: ApiKeyInput): ApiKeyUpdate {
  const name = input.name.trim()
  return {
    ...(name === apiKey.name ? {} : { name }),
    ...(input.role === apiKey.role ? {} : { role: input.role }),
    ...(input.expiry === toInput(apiKey).expiry
      ? {}
      : { expireTime: fromExpiryInput(input.expiry) ?? null }),
  }
}

function EditApiKey({ apiKey, onClose }: DialogProps) {
  const { self } = useSession()
  const [input, setInput] = useState<ApiKeyInput>(() => toInput(apiKey))
  const body = changedMembers(apiKey, input)
  const update = useApiKeyUpdate(apiKey, body)
  return (
    <ActionDialog
      title={`Edit “${apiKey.name}”`}
      action="Save"
      disabled={body.name === '' || Object.keys(body).length === 0}
      onClose={onClose}
      {...update}
    >
      <ApiKeyFields input={input} onInput={setInput} own={apiKey.id === self.id} />
    </ActionDialog>
  )
}
