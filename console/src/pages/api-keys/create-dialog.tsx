import { useQueryClient } from '@tanstack/react-query'
import type { ApiKey } from '../../../../client/src/index.ts'
import { Dialog } from '../../components/dialog.tsx'
import { ActionForm } from '../../forms/action-form.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { ProjectField } from '../../forms/project-field.tsx'
import { toRole } from '../../forms/role-field.tsx'
import { fromExpiryInput } from '../../forms/time-field.tsx'
import { useSession } from '../../session/context.tsx'
import { ApiKeyFields, newInput } from './fields.tsx'

const draft = 'new-api-key'

// Long because its fields share the input of the form.
/** Creates an API key. */
export function CreateApiKey(props: {
  own: ApiKey | undefined
  onClose(): void
  onCreated(secret: string): void
}) {
  const { own, onClose, onCreated } = props
  const { client } = useSession()
  const queries = useQueryClient()
  const [input, change] = useDraft(draft, { ...newInput(own), project: '' })
  const expireTime = fromExpiryInput(input.expiry)
  const project = input.project.trim()
  const body = {
    name: input.name.trim(),
    role: toRole(input.role),
    ...(project === '' ? {} : { project }),
    ...(expireTime === undefined ? {} : { expireTime }),
  }
  async function create() {
    const { apiKey } = await client.apiKeys.create(body)
    onCreated(apiKey)
    await queries.invalidateQueries({ queryKey: ['api-keys'] })
  }
  return (
    <Dialog onClose={onClose} title="New API key">
      <ActionForm
        action="Create API key"
        missing={[body.name === '' && 'a name']}
        draft={draft}
        request={{ method: 'POST', path: '/api-keys', body }}
        run={create}
        onCancel={onClose}
      >
        <ApiKeyFields input={input} onChange={change} own={own} />
        <ProjectField
          description="Limits access to one project, by name or id. Leave empty for all projects."
          placeholder="all projects"
          value={input.project}
          onValue={(text) => change({ project: text })}
        />
      </ActionForm>
    </Dialog>
  )
}
