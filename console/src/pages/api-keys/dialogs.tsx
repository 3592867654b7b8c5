import { Button, Group, Modal, Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { ApiKey, ApiKeyUpdate } from '../../../../client/src/index.ts'
import { Confirm } from '../../components/confirm.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useSession } from '../../session/context.tsx'
import { ApiKeyFields, type ApiKeyValues, expireTimeOf, valuesOf } from './fields.tsx'

export type ApiKeyAction = 'edit' | 'revoke' | 'restore' | 'delete'

type DialogProps = { apiKey: ApiKey; onClose(): void }

/** The dialog of an action on an API key. */
export function ApiKeyDialog({ action, ...props }: DialogProps & { action: ApiKeyAction }) {
  return action === 'edit' ? <Edit {...props} /> : <Ask {...props} action={action} />
}

const questions = {
  revoke: {
    title: 'Revoke',
    action: 'Revoke',
    danger: true,
    text: 'Whoever uses it is refused from the next request on. It can be made active again.',
  },
  restore: {
    title: 'Make active again',
    action: 'Make active',
    danger: false,
    text: 'Whoever has its secret may call the service again.',
  },
  delete: {
    title: 'Delete',
    action: 'Delete for good',
    danger: true,
    text: 'Whoever uses it is refused from the next request on. What it did stays in the ledger.',
  },
}

function Ask({ apiKey, action, onClose }: DialogProps & { action: keyof typeof questions }) {
  const { client } = useSession()
  const queries = useQueryClient()
  const { title, text, ...words } = questions[action]
  const path = `/api-keys/${apiKey.id}`
  const body = { active: action === 'restore' }
  return (
    <Confirm
      {...words}
      title={`${title}: “${apiKey.name}”?`}
      request={action === 'delete' ? { method: 'DELETE', path } : { method: 'PATCH', path, body }}
      run={async () => {
        if (action === 'delete') await client.apiKeys.delete(apiKey.id)
        else await client.apiKeys.update(apiKey.id, body)
        await queries.invalidateQueries({ queryKey: ['api-keys'] })
      }}
      onClose={onClose}
    >
      {text}
    </Confirm>
  )
}

/** What differs from the API key as it is; an expiry that was not touched keeps its seconds. */
function patchOf(apiKey: ApiKey, values: ApiKeyValues): ApiKeyUpdate {
  const name = values.name.trim()
  return {
    ...(name === apiKey.name ? {} : { name }),
    ...(values.role === apiKey.role ? {} : { role: values.role }),
    ...(values.expires === valuesOf(apiKey).expires
      ? {}
      : { expireTime: expireTimeOf(values) ?? null }),
  }
}

function Edit({ apiKey, onClose }: DialogProps) {
  const { client, self } = useSession()
  const queries = useQueryClient()
  const [values, setValues] = useState<ApiKeyValues>(() => valuesOf(apiKey))
  const body = patchOf(apiKey, values)
  const save = useMutation({
    mutationFn: () => client.apiKeys.update(apiKey.id, body),
    onSuccess: async () => {
      onClose()
      await queries.invalidateQueries({ queryKey: ['api-keys'] })
    },
  })
  function submit(event: FormEvent) {
    event.preventDefault()
    save.mutate()
  }
  return (
    <Modal opened onClose={onClose} title={`Change “${apiKey.name}”`} lockScroll={false} centered>
      <form onSubmit={submit}>
        <Stack>
          <ApiKeyFields values={values} onValues={setValues} roleFixed={apiKey.id === self.id} />
          {save.isError && <ErrorNotice error={save.error} />}
          <CurlHint method="PATCH" path={`/api-keys/${apiKey.id}`} body={body} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              type="submit"
              loading={save.isPending}
              disabled={body.name === '' || Object.keys(body).length === 0}
            >
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
