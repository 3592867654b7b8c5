import { Alert, Autocomplete, Button, Group, Modal, Stack } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { CopyField } from '../../components/copy.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useSession } from '../../session/context.tsx'
import { ApiKeyFields, expireTimeOf, newValues } from './fields.tsx'

/** Makes an API key and shows its secret, this once. */
export function NewApiKey({ onClose }: { onClose(): void }) {
  const { client } = useSession()
  const queries = useQueryClient()
  const [values, setValues] = useState(newValues)
  const [project, setProject] = useState('')
  const names = useProjectNames()
  const expireTime = expireTimeOf(values)
  const body = {
    name: values.name.trim(),
    role: values.role,
    ...(project.trim() === '' ? {} : { project: project.trim() }),
    ...(expireTime === undefined ? {} : { expireTime }),
  }
  const save = useMutation({
    mutationFn: () => client.apiKeys.create(body),
    gcTime: 0,
    onSuccess: () => queries.invalidateQueries({ queryKey: ['api-keys'] }),
  })
  function submit(event: FormEvent) {
    event.preventDefault()
    save.mutate()
  }
  if (save.data !== undefined) return <Secret apiKey={save.data.apiKey} onClose={onClose} />
  return (
    <Modal opened onClose={onClose} title="New API key" lockScroll={false} centered>
      <form onSubmit={submit}>
        <Stack>
          <ApiKeyFields values={values} onValues={setValues} />
          <Autocomplete
            label="Project"
            description="The one project that it may see, by name or id. Empty: all projects."
            placeholder="all projects"
            data={names}
            limit={20}
            value={project}
            onChange={setProject}
          />
          {save.isError && <ErrorNotice error={save.error} />}
          <CurlHint method="POST" path="/api-keys" body={body} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending} disabled={body.name === ''}>
              Create API key
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

/** Names to choose from; others can be typed. */
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
    <Modal
      opened
      onClose={onClose}
      title="The API key is made"
      closeOnClickOutside={false}
      size="lg"
      lockScroll={false}
      centered
    >
      <Stack>
        <Alert color="yellow" icon={<IconAlertTriangle />} title="Copy it now">
          It is shown this once: Pubring keeps only a hash of it. Put it into your secret store,
          from where its user reads it as PUBRING_API_KEY; not into code, a chat or a ticket.
        </Alert>
        <CopyField label="API key" value={apiKey} />
        <Group justify="flex-end">
          <Button onClick={onClose}>I have it</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
