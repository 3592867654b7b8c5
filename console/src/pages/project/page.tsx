import { Button, Card, Menu, SimpleGrid, Tabs } from '@mantine/core'
import { IconDots, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { type Project, PubringError } from '../../../../client/src/index.ts'
import { Confirm } from '../../components/confirm.tsx'
import { CopyField } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { EmptyState, LoadingRows, PageHead } from '../../components/states.tsx'
import { Timeline } from '../../events/timeline.tsx'
import { useAddresses, useKeys, useLiveProject, useProject } from '../../keys/queries.ts'
import { useRights, useSession } from '../../session/context.tsx'
import { Waiting } from '../../session/sign-in.tsx'
import { ProjectForm } from '../projects/project-form.tsx'
import { KeysPanel } from './keys-panel.tsx'
import { Register } from './register-dialog.tsx'

const Verify = lazy(async () => ({ default: (await import('../verify/panel.tsx')).Verify }))
const Connect = lazy(async () => ({ default: (await import('../connect/panel.tsx')).Connect }))

const tabs = [
  { value: 'keys', label: 'Keys' },
  { value: 'connect', label: 'Connect' },
  { value: 'verify', label: 'Check a token' },
  { value: 'history', label: 'History' },
]

/** A project: what is trusted, since when, and where verifiers find it. */
export function ProjectPage({ project, tab }: { project: string; tab: string }) {
  const found = useProject(project)
  useLiveProject(found.data?.id, found.data?.revision)
  if (found.isPending) return <LoadingRows rows={6} />
  if (found.isError) {
    const gone = found.error instanceof PubringError && found.error.status === 404
    return gone ? (
      <EmptyState title="There is no such project">
        It may have been deleted, or your API key may not see it.
      </EmptyState>
    ) : (
      <ErrorNotice error={found.error} retry={() => void found.refetch()} />
    )
  }
  return <Present project={found.data} tab={tab} />
}

function Present({ project, tab }: { project: Project; tab: string }) {
  const { mayWrite } = useRights()
  const [, navigate] = useLocation()
  const [registeringOn, setRegisteringOn] = useState<string>()
  const register = () => setRegisteringOn(tab)
  useEffect(() => {
    document.title = `${project.name} · Pubring`
    return () => {
      document.title = 'Pubring'
    }
  }, [project.name])
  return (
    <>
      <PageHead
        title={project.name}
        actions={
          <>
            {mayWrite && (
              <Button leftSection={<IconPlus size={16} />} onClick={register}>
                Register a key
              </Button>
            )}
            <ProjectMenu project={project} />
          </>
        }
      />
      <Addresses projectId={project.id} />
      <Tabs
        value={tab}
        onChange={(value) => navigate(`/projects/${project.id}/${value ?? 'keys'}`)}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          {tabs.map(({ value, label }) => (
            <Tabs.Tab key={value} value={value}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Suspense fallback={<Waiting />}>
          <Tabs.Panel value="keys">
            <KeysPanel project={project} onRegister={register} />
          </Tabs.Panel>
          <Tabs.Panel value="connect">
            <Connect project={project} />
          </Tabs.Panel>
          <Tabs.Panel value="verify">
            <Verify project={project} />
          </Tabs.Panel>
          <Tabs.Panel value="history">
            <Timeline project={project} />
          </Tabs.Panel>
        </Suspense>
      </Tabs>
      {registeringOn === tab && (
        <Register project={project} onClose={() => setRegisteringOn(undefined)} />
      )}
    </>
  )
}

function Addresses({ projectId }: { projectId: string }) {
  const addresses = useAddresses(projectId)
  return (
    <Card withBorder padding="md" mb="lg">
      {addresses.isPending && <LoadingRows rows={1} />}
      {addresses.isError && (
        <ErrorNotice error={addresses.error} retry={() => void addresses.refetch()} />
      )}
      {addresses.isSuccess && (
        <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
          <CopyField label="Issuer (iss)" value={addresses.data.issuer} />
          <CopyField label="JWKS address" value={addresses.data.jwks_uri} />
        </SimpleGrid>
      )}
    </Card>
  )
}

function ProjectMenu({ project }: { project: Project }) {
  const { client } = useSession()
  const { mayManage } = useRights()
  const keys = useKeys(project.id)
  const [, navigate] = useLocation()
  const [open, setOpen] = useState<'rename' | 'delete'>()
  if (!mayManage) return null
  const count = keys.data?.length ?? 0
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" px="xs" aria-label="More for this project">
            <IconDots size={18} />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconPencil size={16} />} onClick={() => setOpen('rename')}>
            Rename
          </Menu.Item>
          <Menu.Item
            leftSection={<IconTrash size={16} />}
            color="red"
            disabled={count > 0}
            onClick={() => setOpen('delete')}
          >
            {count > 0 ? 'Delete (delete its keys first)' : 'Delete'}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {open === 'rename' && <ProjectForm project={project} onClose={() => setOpen(undefined)} />}
      {open === 'delete' && (
        <Confirm
          title={`Delete ${project.name}?`}
          action="Delete project"
          danger
          request={{ method: 'DELETE', path: `/projects/${project.id}` }}
          run={async () => {
            await client.projects.delete(project.id)
            navigate('/')
          }}
          onClose={() => setOpen(undefined)}
        >
          Its issuer and its key set answer 404 from then on, and API keys that are bound to it end
          with it. Its ledger stays.
        </Confirm>
      )}
    </>
  )
}
