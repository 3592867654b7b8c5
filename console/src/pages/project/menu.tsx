import { Button, Menu } from '@mantine/core'
import type { Project } from '@pubring/client'
import { IconDots, IconPencil, IconTrash } from '@tabler/icons-react'
import { useLocation } from 'wouter'
import { ActionDialog } from '../../forms/action-form.tsx'
import { useOpenDialog } from '../../forms/drafts.ts'
import { useKeys } from '../../keys/queries.ts'
import { useSession } from '../../session/context.tsx'
import { useRights } from '../../session/rights.ts'
import { ProjectForm } from '../projects/project-form.tsx'

/** The actions on a project, for admins of all projects. */
export function ProjectMenu({ project }: { project: Project }) {
  const { mayManage } = useRights()
  const keys = useKeys(project.id)
  const [open, setOpen] = useOpenDialog(`project.${project.id}`, ['rename', 'delete'])
  if (!mayManage) return null
  const hasKeys = (keys.data?.length ?? 0) > 0
  const show = (action: 'rename' | 'delete') => () => setOpen({ action, id: project.id })
  const close = () => setOpen(undefined)
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" px="xs" aria-label="Project actions">
            <IconDots size={18} />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconPencil size={16} />} onClick={show('rename')}>
            Rename
          </Menu.Item>
          <Menu.Item
            leftSection={<IconTrash size={16} />}
            className="warning"
            disabled={hasKeys}
            onClick={show('delete')}
          >
            {hasKeys ? 'Delete (delete its keys first)' : 'Delete'}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {open?.action === 'rename' && <ProjectForm project={project} onClose={close} />}
      {open?.action === 'delete' && <DeleteProject project={project} onClose={close} />}
    </>
  )
}

function DeleteProject({ project, onClose }: { project: Project; onClose(): void }) {
  const { client } = useSession()
  const [, navigate] = useLocation()
  return (
    <ActionDialog
      title={`Delete “${project.name}”?`}
      action="Delete project"
      danger
      request={{ method: 'DELETE', path: `/projects/${project.id}` }}
      run={async () => {
        await client.projects.delete(project.id)
        navigate('/')
      }}
      onClose={onClose}
    >
      Its issuer and JWKS will respond with 404, and the API keys bound to it will stop working. Its
      ledger is kept.
    </ActionDialog>
  )
}
