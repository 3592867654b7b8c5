import { SimpleGrid, Tabs } from '@mantine/core'
import type { Project } from '@pubring/client'
import { IconLink, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { lazyPage, lazyPart, usePreload } from '../../components/boundary.tsx'
import { IconButton } from '../../components/buttons.tsx'
import { CopyField } from '../../components/copy.tsx'
import { ActionsMenu } from '../../components/data-table.tsx'
import { NotFoundPage, PageHeader, QueryResult } from '../../components/states.tsx'
import { ActionDialog, useOpenDialog } from '../../forms/action-form.tsx'
import { useDiscovery, useKeys } from '../../keys/queries.ts'
import { useRights } from '../../session/session.tsx'
import { LiveProject } from '../live-project.tsx'
import { ProjectForm } from '../projects/project-form.tsx'
import { KeysPanel } from './keys/panel.tsx'

const RegisterDialog = lazyPart(() => import('./new-key.tsx'), 'RegisterDialog')
const LinkDialog = lazyPart(() => import('./links.tsx'), 'LinkDialog')
const History = lazyPage(() => import('../../events/history.tsx'), 'History')
const TimelinePanel = lazyPage(() => import('../../timeline/panel.tsx'), 'TimelinePanel')
const VerifyPanel = lazyPage(() => import('../verify/panel.tsx'), 'VerifyPanel')
const ConnectPanel = lazyPage(() => import('../connect/panel.tsx'), 'ConnectPanel')

export const ProjectPage = ({ project, tab }: { project: string; tab: string }) => (
  <LiveProject name={project} rows={6}>
    {(loaded) => <LoadedProject project={loaded} tab={tab} />}
  </LiveProject>
)

function LoadedProject({ project, tab }: { project: Project; tab: string }) {
  const { mayRegister, mayWrite } = useRights(project.id)
  const [dialog, setDialog] = useOpenDialog(`register.${project.id}`, [
    'register',
    'registered',
    'link',
  ])
  const close = () => setDialog(undefined)
  usePreload(RegisterDialog.load)
  const register = () => setDialog({ action: 'register', id: '' })
  const label = tabLabels[tab]
  if (label === undefined) return <NotFoundPage />
  return (
    <>
      <PageHeader
        title={project.name}
        name={`${label} · ${project.name}`}
        actions={
          <>
            {mayWrite && (
              <IconButton
                variant="default"
                Icon={IconLink}
                label="Registration link"
                onClick={() => setDialog({ action: 'link', id: '' })}
              />
            )}
            {mayRegister && (
              <IconButton Icon={IconPlus} label="Register a key" onClick={register} />
            )}
            <ProjectMenu project={project} />
          </>
        }
      />
      <ProjectTabs project={project} tab={tab} onRegister={register} />
      {dialog?.action === 'link' && <LinkDialog project={project} onClose={close} />}
      {dialog !== undefined && dialog.action !== 'link' && (
        <RegisterDialog
          project={project}
          kid={dialog.action === 'registered' ? dialog.id : undefined}
          onRegistered={(kid) => setDialog({ action: 'registered', id: kid })}
          onClose={close}
        />
      )}
    </>
  )
}

const tabLabels: Record<string, string> = {
  keys: 'Keys',
  timeline: 'Timeline',
  connect: 'Connect',
  verify: 'Check a token',
  history: 'History',
}

function ProjectTabs(props: { project: Project; tab: string; onRegister(): void }) {
  const { project, tab, onRegister } = props
  const [, navigate] = useLocation()
  const discovery = useDiscovery(project.id)
  // Outlives the panel, but not the page: a token is a secret.
  const [token, setToken] = useState('')
  const panels: Record<string, ReactNode> = {
    keys: (
      <>
        <QueryResult query={discovery} rows={1}>
          {({ issuer, jwks_uri: jwksUri }) => (
            <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl" verticalSpacing="xs" mb="md">
              <CopyField label="Issuer (iss)" value={issuer} />
              <CopyField label="JWKS URL" value={jwksUri} />
            </SimpleGrid>
          )}
        </QueryResult>
        <KeysPanel project={project} onRegister={onRegister} />
      </>
    ),
    timeline: <TimelinePanel project={project} />,
    connect: <ConnectPanel project={project} />,
    verify: <VerifyPanel project={project} token={token} onToken={setToken} />,
    history: <History project={project} />,
  }
  return (
    <Tabs
      value={tab}
      onChange={(value) => navigate(`/projects/${project.id}/${value ?? 'keys'}`)}
      keepMounted={false}
    >
      <Tabs.List mb="md">
        {Object.entries(tabLabels).map(([value, label]) => (
          <Tabs.Tab key={value} value={value}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {Object.entries(panels).map(([value, panel]) => (
        <Tabs.Panel key={value} value={value}>
          {panel}
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}

function ProjectMenu({ project }: { project: Project }) {
  const { mayManage } = useRights()
  const keys = useKeys(project.id)
  const [open, setOpen] = useOpenDialog(`project.${project.id}`, ['rename', 'delete'])
  if (!mayManage) return null
  const hasKeys = (keys.data?.length ?? 0) > 0
  const show = (action: 'rename' | 'delete') => () => setOpen({ action, id: project.id })
  const close = () => setOpen(undefined)
  const rename = { label: 'Rename', Icon: IconPencil, onClick: show('rename') }
  const remove = { label: 'Delete', Icon: IconTrash, isDangerous: true, onClick: show('delete') }
  return (
    <>
      <ActionsMenu
        name={project.name}
        label="Project actions"
        actions={[rename, hasKeys ? { label: 'Delete (delete its keys first)' } : remove]}
      />
      {open?.action === 'rename' && <ProjectForm project={project} onClose={close} />}
      {open?.action === 'delete' && <DeleteProject project={project} onClose={close} />}
    </>
  )
}

function DeleteProject({ project, onClose }: { project: Project; onClose(): void }) {
  const [, navigate] = useLocation()
  return (
    <ActionDialog
      title={`Delete “${project.name}”?`}
      action="Delete project"
      danger
      send={(client) => client.projects.delete(project.id)}
      onSent={() => navigate('/')}
      onClose={onClose}
    >
      Its issuer and JWKS will respond with 404, and the API keys bound to it will stop working. Its
      ledger is kept.
    </ActionDialog>
  )
}
