import { Alert, Autocomplete, Button, Group, Modal, Stack } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ActionForm } from '../../components/action-form.tsx'
import { CopyField } from '../../components/copy.tsx'
import { fromExpiryInput } from '../../components/expiry-field.tsx'
import { useSession } from '../../session/context.tsx'
import { ApiKeyFields, newInput } from './fields.tsx'

// Long because its fields share the state of the form.
/** Creates an API key and shows its secret once. */
export function CreateApiKey({ onClose }: { onClose(): void }) {
  const { client, self } = useSession()
  const queries = useQueryClient()
  const [input, setInput] = useState(() => newInput(self))
  const [project, setProject] = useState('')
  const [secret, setSecret] = useState<string>()
  const projectNames = useProjectNames()
  const expireTime = fromExpiryInput(input.expiry)
  const body = {
    name: input.name.trim(),
    role: input.role,
    ...(project.trim() === '' ? {} : { project: project.trim() }),
    ...(expireTime === undefined ? {} : { expireTime }),
  }
  async function create() {
    const { apiKey } = await client.apiKeys.create(body)
    setSecret(apiKey)
    await queries.invalidateQueries({ queryKey: ['api-keys'] })
  }
  if (secret !== undefined) return <Secret apiKey={secret} onClose={onClose} />
  return (
    <Modal opened onClose={onClose} title="New API key">
      <ActionForm
        action="Create API key"
        disabled={body.name === ''}
        request={{ method: 'POST', path: '/api-keys', body }}
        run={create}
        onCancel={onClose}
      >
        <ApiKeyFields input={input} onInput={setInput} />
        <Autocomplete
          label="Project"
          description="Limits access to one project, by name or id. Leave empty for all projects."
          placeholder="all projects"
          data={projectNames}
          limit={20}
          value={project}
          onChange={setProject}
        />
      </ActionForm>
    </Modal>
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

function Secret({ apiKey, onClose }: { apiKey: string; onClose(): void }) {
  return (
    <Modal opened onClose={onClose} title="API key created" closeOnClickOutside={false} size="lg">
      <Stack>
        <Alert color="yellow" icon={<IconAlertTriangle />} title="Copy it now">
          The API key is shown only once: Pubring stores only its hash. Keep it in a secret store,
          not in code, chats or tickets. The command line reads it from PUBRING_API_KEY.
        </Alert>
        <CopyField label="API key" value={apiKey} />
        <Group justify="flex-end">
          <Button onClick={onClose}>I have copied it</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
