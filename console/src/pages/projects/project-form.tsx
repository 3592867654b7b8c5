import { TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import type { Project } from '../../../../client/src/index.ts'
import { ActionDialog } from '../../components/action-form.tsx'
import { useSession } from '../../session/context.tsx'

// Long because creating and renaming share the form.
/** Creates a project, or renames `project`. */
export function ProjectForm({ project, onClose }: { project?: Project; onClose(): void }) {
  const { client } = useSession()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const [name, setName] = useState(project?.name ?? '')
  const body = { name: name.trim() }
  async function save() {
    if (project === undefined) {
      const { id } = await client.projects.create(body)
      navigate(`/projects/${id}`)
    } else {
      await client.projects.rename(project.id, body.name)
    }
    await queries.invalidateQueries({ queryKey: ['projects'] })
    await queries.invalidateQueries({ queryKey: ['project'] })
  }
  return (
    <ActionDialog
      title={project === undefined ? 'New project' : 'Rename project'}
      action={project === undefined ? 'Create project' : 'Rename'}
      disabled={body.name === ''}
      request={
        project === undefined
          ? { method: 'POST', path: '/projects', body }
          : { method: 'PATCH', path: `/projects/${project.id}`, body }
      }
      run={save}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="Lowercase letters, digits and hyphens. The id and the issuer never change."
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={128}
        required
        withAsterisk={false}
        data-autofocus
      />
    </ActionDialog>
  )
}
