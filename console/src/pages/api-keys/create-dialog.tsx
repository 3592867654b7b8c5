import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Dialog } from '../../components/dialog.tsx'
import { ActionForm } from '../../forms/action-form.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { SuggestField } from '../../forms/suggest-field.tsx'
import { fromExpiryInput } from '../../forms/time-field.tsx'
import { useSession } from '../../session/context.tsx'
import { ApiKeyFields, newInput, roleOf } from './fields.tsx'

const draft = 'new-api-key'

// Long because its fields share the input of the form.
/** Creates an API key. */
export function CreateApiKey(props: { onClose(): void; onCreated(secret: string): void }) {
  const { onClose, onCreated } = props
  const { client, self } = useSession()
  const queries = useQueryClient()
  const [input, change] = useDraft(draft, { ...newInput(self), project: '' })
  const projectNames = useProjectNames()
  const expireTime = fromExpiryInput(input.expiry)
  const project = input.project.trim()
  const body = {
    name: input.name.trim(),
    role: roleOf(input),
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
        <ApiKeyFields input={input} onChange={change} />
        <SuggestField
          label="Project"
          description="Limits access to one project, by name or id. Leave empty for all projects."
          placeholder="all projects"
          data={projectNames}
          limit={20}
          value={input.project}
          onValue={(text) => change({ project: text })}
        />
      </ActionForm>
    </Dialog>
  )
}

/** Suggestions: the first page of projects. */
function useProjectNames(): string[] {
  const { client } = useSession()
  const projects = useQuery({
    queryKey: ['project-names'],
    queryFn: ({ signal }) => client.projects.list({ limit: 200, signal }),
  })
  return projects.data?.items.map(({ name }) => name) ?? []
}
