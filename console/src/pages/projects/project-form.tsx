import type { Project } from '@pubring/client'
import { useLocation } from 'wouter'
import { ActionDialog } from '../../forms/action-form.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { TextField } from '../../forms/text-fields.tsx'
import { useChange } from '../../session/api.ts'

// Long because creating and renaming share the form.
/** Creates a project, or renames `project`. */
export function ProjectForm({ project, onClose }: { project?: Project; onClose(): void }) {
  const change = useChange(['projects'], ['project'])
  const [, navigate] = useLocation()
  const draft = `project.${project?.id ?? 'new'}`
  const [{ name }, setInput] = useDraft(draft, { name: project?.name ?? '' })
  const body = { name: name.trim() }
  const save = () =>
    change(async ({ projects }) => {
      if (project !== undefined) return projects.rename(project.id, body.name)
      const { id } = await projects.create(body)
      navigate(`/projects/${id}`)
    })
  return (
    <ActionDialog
      title={project === undefined ? 'New project' : 'Rename project'}
      action={project === undefined ? 'Create project' : 'Rename'}
      missing={[body.name === '' && 'a name', body.name === project?.name && 'a new name']}
      draft={draft}
      request={
        project === undefined
          ? { method: 'POST', path: '/projects', body }
          : { method: 'PATCH', path: `/projects/${project.id}`, body }
      }
      run={save}
      onClose={onClose}
    >
      <TextField
        label="Name"
        description="Lowercase letters, digits and hyphens. The id and the issuer never change."
        value={name}
        onValue={(text) => setInput({ name: text })}
        required
        withAsterisk={false}
        data-autofocus
      />
    </ActionDialog>
  )
}
