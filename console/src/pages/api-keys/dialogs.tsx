import type { ApiKey, ApiKeyUpdate } from '@pubring/client'
import { quoted } from '../../components/user-text.tsx'
import { ActionDialog } from '../../forms/action-form.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { ProjectField } from '../../forms/project-field.tsx'
import { toRole } from '../../forms/role-field.tsx'
import { fromExpiryInput } from '../../forms/time-field.tsx'
import { useChange } from '../../session/api.ts'
import { ApiKeyFields, type ApiKeyInput, newInput, toInput } from './fields.tsx'

/** `own`: the API key that the user is signed in with, if it is one. */
type DialogProps = { own: ApiKey | undefined; onClose(): void }

const newKeyDraft = 'new-api-key'

// Long because its fields share the input of the form.
/** Creates an API key, and closes before its secret is shown. */
export function CreateApiKey(props: DialogProps & { onCreated(secret: string): void }) {
  const { own, onClose, onCreated } = props
  const change = useChange(['api-keys'])
  const [input, setInput] = useDraft(newKeyDraft, { ...newInput(own), project: '' })
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
        value={input.project}
        onValue={(text) => setInput({ project: text })}
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
