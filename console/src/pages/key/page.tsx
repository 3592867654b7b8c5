import { Grid, Stack } from '@mantine/core'
import { type JwtKeyWithDetails, type Project, PubringError } from '@pubring/client'
import { CurlHint } from '../../components/curl.tsx'
import { KeyStateBadge } from '../../components/key-state-badge.tsx'
import { PageHeader, QueryResult } from '../../components/states.tsx'
import { withVisibleControls } from '../../components/user-text.tsx'
import { useActiveKeys, useKey } from '../../keys/queries.ts'
import { useKeyRefresh, useRefreshAt } from '../../keys/refresh.ts'
import { useKeyRow, useKeyStates } from '../../keys/states.ts'
import { ProjectWarnings } from '../../warnings/project-warnings.tsx'
import { LiveProject } from '../live-project.tsx'
import { Revocations } from '../project/revocation.tsx'
import { KeyActionButtons } from './actions.tsx'
import { Breadcrumb } from './breadcrumb.tsx'
import { DeletedKey } from './deleted.tsx'
import { Details } from './details.tsx'
import { KeyHistory } from './history.tsx'
import { Impact } from './impact.tsx'
import { Material } from './material.tsx'
import { KeyRotations } from './rotations.tsx'
import { Summary } from './summary.tsx'

/** A key, by its id or published kid: what it is, what depends on it, and what became of it. */
export function KeyPage({ project: name, kid }: { project: string; kid: string }) {
  return (
    <LiveProject name={name} rows={8}>
      {(project) => <KeyOfProject project={project} kid={kid} />}
    </LiveProject>
  )
}

function KeyOfProject({ project, kid }: { project: Project; kid: string }) {
  const key = useKey(project.id, kid)
  const states = useKeyStates(project.id)
  const { error } = key
  if (error instanceof PubringError && error.status === 404) {
    return <DeletedKey project={project} kid={kid} />
  }
  // Without the states, a compromised key would be called something else.
  return (
    <QueryResult query={states} rows={8}>
      {() => (
        <QueryResult query={key} rows={8}>
          {(loaded) => <LoadedKey project={project} jwtKey={loaded} />}
        </QueryResult>
      )}
    </QueryResult>
  )
}

function LoadedKey({ project, jwtKey }: { project: Project; jwtKey: JwtKeyWithDetails }) {
  const active = useActiveKeys(project.id)
  const label = withVisibleControls(jwtKey.label)
  const row = useKeyRow(jwtKey)
  const refresh = useKeyRefresh(project.id)
  const { convergedTime } = jwtKey.details
  useRefreshAt([convergedTime, jwtKey.expireTime], () => refresh([jwtKey.id]))
  return (
    <>
      <PageHeader
        title={label}
        name={`${label} · ${project.name}`}
        above={<Breadcrumb project={project} />}
        badge={<KeyStateBadge row={jwtKey.active ? row : { state: row.state }} />}
        actions={<KeyActionButtons row={row} activeKeys={active.data} />}
      />
      <Revocations rows={[row]} />
      <ProjectWarnings projectId={project.id} kid={jwtKey.id} />
      <Stack>
        <Summary row={row} activeKeys={active.data} />
        <Grid>
          <Grid.Col span={{ base: 12, md: 7 }}>
            <Stack>
              <Material jwtKey={jwtKey} />
              <KeyHistory project={project} kid={jwtKey.id} />
            </Stack>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 5 }}>
            <Stack>
              <Impact jwtKey={jwtKey} activeKeys={active.data} />
              <KeyRotations jwtKey={jwtKey} />
              <Details jwtKey={jwtKey} />
            </Stack>
          </Grid.Col>
        </Grid>
        <CurlHint path={`/projects/${project.id}/jwt-keys/${jwtKey.id}`} />
      </Stack>
    </>
  )
}
