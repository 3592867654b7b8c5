import { Checkbox } from '@mantine/core'
import { type Project, PubringError } from '@pubring/client'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { ActionDialog, useDraft } from '../../forms/action-form.tsx'
import { TextField } from '../../forms/text-fields.tsx'
import { useChange } from '../../session/session.tsx'

// Long because creating and renaming share the form.
export function ProjectForm({ project, onClose }: { project?: Project; onClose(): void }) {
  const change = useChange(['projects'], ['project'])
  const [, navigate] = useLocation()
  const draft = `project.${project?.id ?? 'new'}`
  const [{ name }, setInput] = useDraft(draft, { name: project?.name ?? '' })
  // Undefined until the server says that another project gave the name up.
  const [release, setRelease] = useState<boolean>()
  const body = { name: name.trim() }
  const query = release ? '?release=true' : ''
  const save = () =>
    change(async ({ projects }) => {
      if (project !== undefined) return projects.rename(project.id, body.name, { release })
      const { id } = await projects.create(body, { release })
      navigate(`/projects/${id}`)
    }).catch((error: unknown) => {
      if (error instanceof PubringError && error.problem?.heldUntil) setRelease(false)
      throw error
    })
  return (
    <ActionDialog
      title={project === undefined ? 'New project' : 'Rename project'}
      action={project === undefined ? 'Create project' : 'Rename'}
      missing={[body.name === '' && 'a name', body.name === project?.name && 'a new name']}
      draft={draft}
      request={
        project === undefined
          ? { method: 'POST', path: `/projects${query}`, body }
          : { method: 'PATCH', path: `/projects/${project.id}${query}`, body }
      }
      run={save}
      onClose={onClose}
    >
      <TextField
        label="Name"
        description="Lowercase letters, digits and hyphens. The id and the issuer never change."
        value={name}
        onValue={(text) => {
          setInput({ name: text })
          setRelease(undefined)
        }}
        required
        withAsterisk={false}
        data-autofocus
      />
      {release !== undefined && (
        <Checkbox
          label="Take the name from the project that gave it up"
          description="Verifiers that still use the name then get the keys of this project."
          checked={release}
          onChange={({ currentTarget }) => setRelease(currentTarget.checked)}
        />
      )}
    </ActionDialog>
  )
}
