import { Checkbox } from '@mantine/core'
import { type Client, type Project, PubringError } from '@pubring/client'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { ActionDialog, useDraft } from '../../forms/action-form.tsx'
import { TextField } from '../../forms/text-fields.tsx'

// Long because creating and renaming share the form.
export function ProjectForm({ project, onClose }: { project?: Project; onClose(): void }) {
  const [, navigate] = useLocation()
  const draft = `project.${project?.id ?? 'new'}`
  const [{ name }, setInput] = useDraft(draft, { name: project?.name ?? '' })
  // Undefined until the server says that another project gave the name up.
  const [release, setRelease] = useState<boolean>()
  const body = { name: name.trim() }
  const save = ({ projects }: Client) =>
    (project === undefined
      ? projects.create(body, { release })
      : projects.rename(project.id, body.name, { release })
    ).catch((error: unknown) => {
      if (error instanceof PubringError && error.problem?.heldUntil) setRelease(false)
      throw error
    })
  return (
    <ActionDialog
      title={project === undefined ? 'New project' : 'Rename project'}
      action={project === undefined ? 'Create project' : 'Rename'}
      missing={[body.name === '' && 'a name', body.name === project?.name && 'a new name']}
      draft={draft}
      changes={[['projects'], ['project']]}
      send={save}
      onSent={({ id }) => project === undefined && navigate(`/projects/${id}`)}
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
