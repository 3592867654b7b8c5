import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import type { Project } from '../../../../client/src/index.ts'
import { CurlHint } from '../../components/curl.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useSession } from '../../session/context.tsx'

/** Makes a project, or gives `project` another name. What was typed stays where saving fails. */
export function ProjectForm({ project, onClose }: { project?: Project; onClose(): void }) {
  const { client } = useSession()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const [name, setName] = useState(project?.name ?? '')
  const save = useMutation({
    mutationFn: () =>
      project === undefined
        ? client.projects.create({ name: name.trim() })
        : client.projects.rename(project.id, name.trim()),
    onSuccess: async (saved) => {
      onClose()
      if (project === undefined) navigate(`/projects/${saved.id}`)
      await queries.invalidateQueries({ queryKey: ['projects'] })
      await queries.invalidateQueries({ queryKey: ['project'] })
    },
  })
  function submit(event: FormEvent) {
    event.preventDefault()
    save.mutate()
  }
  const request =
    project === undefined
      ? ({ method: 'POST', path: '/projects', body: { name: name.trim() } } as const)
      : ({ method: 'PATCH', path: `/projects/${project.id}`, body: { name: name.trim() } } as const)
  return (
    <Modal
      opened
      onClose={onClose}
      title={project === undefined ? 'New project' : 'Rename the project'}
      lockScroll={false}
      centered
    >
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Name"
            description="a-z, 0-9 and hyphens. The id, and with it the issuer, never changes."
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={128}
            required
            withAsterisk={false}
            data-autofocus
          />
          {save.isError && <ErrorNotice error={save.error} />}
          <CurlHint {...request} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending} disabled={name.trim() === ''}>
              {project === undefined ? 'Create project' : 'Rename'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
