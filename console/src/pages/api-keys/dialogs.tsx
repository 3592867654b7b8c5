import { Stack } from '@mantine/core'
import type { ApiKey, ApiKeyUpdate } from '@pubring/client'
import { localTime } from '../../components/times.tsx'
import { quoted } from '../../components/user-text.tsx'
import { ActionDialog } from '../../forms/action-form.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { LabelField } from '../../forms/label-field.tsx'
import { ProjectField } from '../../forms/project-field.tsx'
import { RoleField, toRole } from '../../forms/role-field.tsx'
import { fieldOf } from '../../forms/text-fields.tsx'
import { ExpiryField, fromExpiryInput, toExpiryInput } from '../../forms/time-field.tsx'
import { useChange } from '../../session/api.ts'

/** `own`: the API key that the user is signed in with, if it is one. */
type DialogProps = { own: ApiKey | undefined; onClose(): void }

const newKeyDraft = 'new-api-key'

// Long because its fields share the input of the form.
/** Creates an API key, and closes before its secret is shown. */
export function CreateApiKey(props: DialogProps & { onCreated(secret: string): void }) {
  const { own, onClose, onCreated } = props
  const change = useChange(['api-keys'])
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
  const create = () =>
    change(async (client) => {
      const { apiKey } = await client.apiKeys.create(body)
      onClose()
      onCreated(apiKey)
    })
  return (
    <ActionDialog
      title="New API key"
      action="Create API key"
      purpose="Create an API key"
      missing={[body.name === '' && 'a name']}
      draft={newKeyDraft}
      request={{ method: 'POST', path: '/api-keys', body }}
      run={create}
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

export function EditApiKey({ apiKey, own, onClose }: DialogProps & { apiKey: ApiKey }) {
  const { id, name } = apiKey
  const change = useChange(['api-keys'])
  const draft = `api-key.${id}`
  const [input, setInput] = useDraft(draft, toInput(apiKey))
  const body = changedMembers(apiKey, input)
  return (
    <ActionDialog
      title={`Edit ${quoted(name)}`}
      action="Save"
      missing={[body.name === '' && 'a name', Object.keys(body).length === 0 && 'a change']}
      draft={draft}
      request={{ method: 'PATCH', path: `/api-keys/${id}`, body }}
      run={(confirmation) => change((client) => client.apiKeys.update(id, body, confirmation))}
      onClose={onClose}
    >
      <ApiKeyFields input={input} onChange={setInput} own={own} isOwn={id === own?.id} />
    </ActionDialog>
  )
}

/** The fields of an API key as typed. */
type ApiKeyInput = { name: string; role: string; expiry: string }

function toInput({ name, role, expireTime }: ApiKey): ApiKeyInput {
  return { name, role, expiry: toExpiryInput(expireTime) }
}

type FieldsProps = {
  input: ApiKeyInput
  onChange(part: Partial<ApiKeyInput>): void
  /** The API key that the user is signed in with, if it is one. */
  own: ApiKey | undefined
  /** Whether it is the one to change. */
  isOwn?: boolean
}

/** The fields for name, role and expiry. */
function ApiKeyFields({ input, onChange, own, isOwn = false }: FieldsProps) {
  return (
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
}

function expiryDescription(own: ApiKey | undefined, isOwn: boolean): string {
  const { expireTime } = own ?? {}
  if (expireTime === undefined) return 'Leave empty for no expiry.'
  if (isOwn) return 'You cannot change the expiry of the API key you are signed in with.'
  return `Your own API key expires at ${localTime(expireTime)}: one that you create or extend must expire by then.`
}
