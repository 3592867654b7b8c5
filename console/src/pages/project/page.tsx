import { Button, Menu, SimpleGrid, Tabs } from '@mantine/core'
import type { Project } from '@pubring/client'
import { IconDots, IconLink, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react'
import { lazy, type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { CopyField } from '../../components/copy.tsx'
import { componentOf, LazyPart, usePreload } from '../../components/lazy.tsx'
import { LoadingPage, NotFoundPage, PageHeader, QueryResult } from '../../components/states.tsx'
import { ActionDialog } from '../../forms/action-form.tsx'
import { useOpenDialog } from '../../forms/drafts.ts'
import { useDiscovery, useKeys } from '../../keys/queries.ts'
import { useSession } from '../../session/context.tsx'
import { useRights } from '../../session/rights.ts'
import { LiveProject } from '../live-project.tsx'
import { ProjectForm } from '../projects/project-form.tsx'
import { KeysPanel } from './keys/panel.tsx'

const loadRegisterDialog = () => componentOf(import('./register-dialog.tsx'), 'RegisterDialog')
const RegisterDialog = lazy(loadRegisterDialog)
const LinkDialog = lazy(() => componentOf(import('./link-dialog.tsx'), 'LinkDialog'))
const History = lazy(() => componentOf(import('../../events/history.tsx'), 'History'))
const TimelinePanel = lazy(() => componentOf(import('../../timeline/panel.tsx'), 'TimelinePanel'))
const VerifyPanel = lazy(() => componentOf(import('../verify/panel.tsx'), 'VerifyPanel'))
const ConnectPanel = lazy(() => componentOf(import('../connect/panel.tsx'), 'ConnectPanel'))

/** A project with its addresses, keys, verifier setup, token check and history. */
export function ProjectPage({ project, tab }: { project: string; tab: string }) {
  return (
    <LiveProject name={project} rows={6}>
      {(loaded) => <LoadedProject project={loaded} tab={tab} />}
    </LiveProject>
  )
}

function LoadedProject({ project, tab }: { project: Project; tab: string }) {
  const { mayRegister, mayWrite } = useRights(project.id)
  const [dialog, setDialog] = useOpenDialog(`register.${project.id}`, [
    'register',
    'registered',
    'link',
  ])
  const close = () => setDialog(undefined)
  usePreload(loadRegisterDialog)
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
              <Button
                variant="default"
                leftSection={<IconLink size={16} />}
                onClick={() => setDialog({ action: 'link', id: '' })}
              >
                Registration link
              </Button>
            )}
            {mayRegister && (
              <Button leftSection={<IconPlus size={16} />} onClick={register}>
                Register a key
              </Button>
            )}
            <ProjectMenu project={project} />
          </>
        }
      />
      <ProjectTabs project={project} tab={tab} onRegister={register} />
      {dialog?.action === 'link' && (
        <LazyPart>
          <LinkDialog project={project} onClose={close} />
        </LazyPart>
      )}
      {dialog !== undefined && dialog.action !== 'link' && (
        <LazyPart>
          <RegisterDialog
            project={project}
            kid={dialog.action === 'registered' ? dialog.id : undefined}
            onRegistered={(kid) => setDialog({ action: 'registered', id: kid })}
            onClose={close}
          />
        </LazyPart>
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
  // Outlives the panel, but not the page: a token is a secret.
  const [token, setToken] = useState('')
  const panels: Record<string, ReactNode> = {
    keys: (
      <>
        <Addresses projectId={project.id} />
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
          <LazyPart fallback={<LoadingPage />}>{panel}</LazyPart>
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}

function Addresses({ projectId }: { projectId: string }) {
  const query = useDiscovery(projectId)
  return (
    <QueryResult query={query} rows={1}>
      {({ issuer, jwks_uri: jwksUri }) => (
        <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl" verticalSpacing="xs" mb="md">
          <CopyField label="Issuer (iss)" value={issuer} />
          <CopyField label="JWKS URL" value={jwksUri} />
        </SimpleGrid>
      )}
    </QueryResult>
  )
}

/** The actions on a project, for admins of all projects. */
function ProjectMenu({ project }: { project: Project }) {
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
