import { Button, Card, SimpleGrid, Tabs } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { type Project, PubringError } from '../../../../client/src/index.ts'
import { CopyField } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import {
  EmptyState,
  LoadingPage,
  LoadingRows,
  PageHeader,
  QueryResult,
} from '../../components/states.tsx'
import { Timeline } from '../../events/timeline.tsx'
import { useDiscovery, useLiveProject, useProject } from '../../keys/queries.ts'
import { useRights } from '../../session/context.tsx'
import { KeysPanel } from './keys-panel.tsx'
import { ProjectMenu } from './menu.tsx'
import { RegisterDialog } from './register-dialog.tsx'

const VerifyPanel = lazy(async () => ({
  default: (await import('../verify/panel.tsx')).VerifyPanel,
}))
const ConnectPanel = lazy(async () => ({
  default: (await import('../connect/panel.tsx')).ConnectPanel,
}))

/** A project with its addresses, keys, verifier setup, token check and history. */
export function ProjectPage({ project, tab }: { project: string; tab: string }) {
  const query = useProject(project)
  useLiveProject(query.data?.id, query.data?.revision)
  if (query.isPending) return <LoadingRows rows={6} />
  if (query.isError) {
    const notFound = query.error instanceof PubringError && query.error.status === 404
    return notFound ? (
      <EmptyState title="Project not found">
        It may have been deleted, or your API key has no access to it.
      </EmptyState>
    ) : (
      <ErrorNotice error={query.error} retry={() => void query.refetch()} />
    )
  }
  return <LoadedProject project={query.data} tab={tab} />
}

function LoadedProject({ project, tab }: { project: Project; tab: string }) {
  const { mayRegister } = useRights()
  // The dialog closes when the tab changes.
  const [registeringOnTab, setRegisteringOnTab] = useState<string>()
  const register = () => setRegisteringOnTab(tab)
  useEffect(() => {
    document.title = `${project.name} · Pubring`
    return () => {
      document.title = 'Pubring'
    }
  }, [project.name])
  return (
    <>
      <PageHeader
        title={project.name}
        actions={
          <>
            {mayRegister && (
              <Button leftSection={<IconPlus size={16} />} onClick={register}>
                Register a key
              </Button>
            )}
            <ProjectMenu project={project} />
          </>
        }
      />
      <Addresses projectId={project.id} />
      <ProjectTabs project={project} tab={tab} onRegister={register} />
      {registeringOnTab === tab && (
        <RegisterDialog project={project} onClose={() => setRegisteringOnTab(undefined)} />
      )}
    </>
  )
}

function ProjectTabs(props: { project: Project; tab: string; onRegister(): void }) {
  const { project, tab, onRegister } = props
  const [, navigate] = useLocation()
  const tabs = [
    {
      value: 'keys',
      label: 'Keys',
      panel: <KeysPanel project={project} onRegister={onRegister} />,
    },
    { value: 'connect', label: 'Connect', panel: <ConnectPanel project={project} /> },
    { value: 'verify', label: 'Check a token', panel: <VerifyPanel project={project} /> },
    { value: 'history', label: 'History', panel: <Timeline project={project} /> },
  ]
  return (
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
      <Suspense fallback={<LoadingPage />}>
        {tabs.map(({ value, panel }) => (
          <Tabs.Panel key={value} value={value}>
            {panel}
          </Tabs.Panel>
        ))}
      </Suspense>
    </Tabs>
  )
}

function Addresses({ projectId }: { projectId: string }) {
  const query = useDiscovery(projectId)
  return (
    <Card withBorder padding="md" mb="lg">
      <QueryResult query={query} rows={1}>
        {({ issuer, jwks_uri: jwksUri }) => (
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
            <CopyField label="Issuer (iss)" value={issuer} />
            <CopyField label="JWKS URL" value={jwksUri} />
          </SimpleGrid>
        )}
      </QueryResult>
    </Card>
  )
}
