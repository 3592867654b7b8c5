import {
  Button,
  Card,
  Code,
  Grid,
  Group,
  List,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  Tooltip,
} from '@mantine/core'
import {
  type JwtKey,
  type JwtKeyWithDetails,
  type Project,
  PubringError,
  type Rotation,
} from '@pubring/client'
import { IconDownload } from '@tabler/icons-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { ToolButton } from '../../components/buttons.tsx'
import { CopyButton, CopyField } from '../../components/copy.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { download } from '../../components/download.ts'
import { Figure, Section } from '../../components/facts.tsx'
import { KeyStateBadge } from '../../components/state-badge.tsx'
import { both, PageHeader, QueryResult } from '../../components/states.tsx'
import {
  endOf,
  exactTime,
  isSoon,
  relativeTime,
  TextLink,
  UserText,
  useNow,
  withVisibleControls,
} from '../../components/text.tsx'
import { ActorName } from '../../events/actor.tsx'
import { formsOf } from '../../keys/forms.ts'
import { useKeyRefresh, useRefreshAt } from '../../keys/live.ts'
import { type KeyRow, useKey, useKeyRow, useKeyStates, useKeys } from '../../keys/queries.ts'
import { isUnderWay, nextStep, useRotations } from '../../keys/rotations.ts'
import { stateMeanings } from '../../keys/state-words.ts'
import { Fetches, KeyUses } from '../../keys/uses.tsx'
import { useRights } from '../../session/session.tsx'
import { ProjectWarnings } from '../../warnings/project-warnings.tsx'
import { LiveProject } from '../live-project.tsx'
import { emptiedBy, LastActiveWarning } from '../project/last-active.tsx'
import { Obedience, Revocations } from '../project/revocation.tsx'
import { KeyActionButtons } from './actions.tsx'
import { Details } from './details.tsx'
import { Breadcrumb, DeletedKey, KeyHistory } from './history.tsx'

/** A key, by its id or published kid: what it is, what depends on it, and what became of it. */
export const KeyPage = ({ project: name, kid }: { project: string; kid: string }) => (
  <LiveProject name={name} rows={8}>
    {(project) => <KeyOfProject project={project} kid={kid} />}
  </LiveProject>
)

function KeyOfProject({ project, kid }: { project: Project; kid: string }) {
  const key = useKey(project.id, kid)
  const states = useKeyStates(project.id)
  const { error } = key
  if (error instanceof PubringError && error.status === 404) {
    return <DeletedKey project={project} kid={kid} />
  }
  // Without the states, a compromised key would be called something else.
  return (
    <QueryResult query={both(key, states)} rows={8}>
      {([loaded]) => <LoadedKey project={project} jwtKey={loaded} />}
    </QueryResult>
  )
}

function LoadedKey({ project, jwtKey }: { project: Project; jwtKey: JwtKeyWithDetails }) {
  const activeKeys = useKeys(project.id).data?.filter(({ active }) => active)
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
        actions={<KeyActionButtons row={row} activeKeys={activeKeys} />}
      />
      <Revocations rows={[row]} />
      <ProjectWarnings projectId={project.id} kid={jwtKey.id} />
      <Stack>
        <Summary row={row} activeKeys={activeKeys} />
        <Grid>
          <Grid.Col span={{ base: 12, md: 7 }}>
            <Stack>
              <Material jwtKey={jwtKey} />
              <KeyHistory project={project} kid={jwtKey.id} />
            </Stack>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 5 }}>
            <Stack>
              <Impact jwtKey={jwtKey} activeKeys={activeKeys} />
              <KeyRotations jwtKey={jwtKey} />
              <Details jwtKey={jwtKey} />
            </Stack>
          </Grid.Col>
        </Grid>
        <CurlHint send={(client) => client.keys.get(project.id, jwtKey.id)} />
      </Stack>
    </>
  )
}

function Summary({ row, activeKeys }: { row: KeyRow; activeKeys: JwtKey[] | undefined }) {
  const { id, state, endsBecause, active, createTime, expireTime } = row
  const now = useNow(15_000)
  const time = (text: string) => relativeTime(Date.parse(text), Math.max(now, Date.now()))
  const others = activeKeys?.filter((key) => key.id !== id).length
  return (
    <Card withBorder padding="md">
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="lg">
        <Figure name="State" value={state} alarming={state === 'compromised'}>
          {stateMeanings[state]}{' '}
          {endsBecause === 'compromised' && !active && 'It is compromised: it stays off.'}
        </Figure>
        <Figure name="Registered" value={time(createTime)}>
          {exactTime(createTime)}
        </Figure>
        <Figure
          name={state === 'expired' ? 'Expired' : 'Expires'}
          value={expireTime ? time(expireTime) : 'never'}
          alarming={active && expireTime !== undefined && isSoon(expireTime)}
        >
          {expireTime === undefined ? 'It has no expiry time.' : `${exactTime(expireTime)}.`}{' '}
          {active && endsBecause === 'superseded' && 'A rotation replaces it.'}
        </Figure>
        <Figure name="Other active keys" value={others === undefined ? '…' : String(others)}>
          {others === 0 && active ? 'It is the last one.' : 'In this project.'}
        </Figure>
      </SimpleGrid>
    </Card>
  )
}

/** Who stops verifying, and when, if the key is deactivated; or when they did. */
function Impact(props: { jwtKey: JwtKeyWithDetails; activeKeys: JwtKey[] | undefined }) {
  const { jwtKey, activeKeys } = props
  const { active, projectId, details } = jwtKey
  const emptied = activeKeys && emptiedBy([jwtKey], activeKeys)
  const uses = <KeyUses keys={[{ ...jwtKey, ...details }]} />
  if (!active) {
    return (
      <>
        <Section title="Who rejects it, and by when">
          {uses}
          <Obedience cached={`By ${exactTime(details.convergedTime)}`} />
        </Section>
        <Fetches projectId={projectId} />
      </>
    )
  }
  return (
    <Section title="If you deactivate it">
      <Stack gap="xs" fz="sm">
        {emptied !== undefined && <LastActiveWarning emptied={emptied} />}
        {uses}
        <Obedience>
          {details.state !== 'compromised' && (
            <>
              <List.Item>
                <b>Tokens in flight</b> are rejected too, however new. A rotation first makes the
                signer use another key, and waits for the longest lifetime of a token.
              </List.Item>
              <List.Item>
                <b>If the private key has leaked,</b> do not wait: register another key, sign with
                it, and deactivate this one as compromised.
              </List.Item>
            </>
          )}
        </Obedience>
      </Stack>
    </Section>
  )
}

/** The rotations in which the key is replaced or replaces another; those under way first. */
function KeyRotations({ jwtKey: { id, projectId } }: { jwtKey: JwtKeyWithDetails }) {
  const { data = [] } = useRotations(projectId)
  const rotations = data.filter(({ from, to }) => from === id || to === id)
  if (rotations.length === 0) return null
  return (
    <Section title="Rotation">
      <Stack>
        {rotations.map((rotation) => (
          <KeyRotation key={rotation.id} rotation={rotation} kid={id} />
        ))}
      </Stack>
    </Section>
  )
}

function KeyRotation({ rotation, kid }: { rotation: Rotation; kid: string }) {
  const { projectId, from, to, state, startedBy, createTime, endTime } = rotation
  const { mayWrite } = useRights(projectId)
  const underWay = isUnderWay(rotation)
  return (
    <div>
      <Text>
        {from === kid ? 'Replaced by ' : 'Replaces '}
        <KeyLink projectId={projectId} kid={from === kid ? to : from} />
        {underWay && `: ${nextStep(rotation)}`}
      </Text>
      <Text size="xs" c="dimmed" mt={2}>
        Started by <ActorName actor={startedBy} /> on {exactTime(createTime)}
        {endTime !== undefined && `, ${state} on ${exactTime(endTime)}`}
      </Text>
      {underWay && (
        <Button
          component={Link}
          href={`/projects/${projectId}/rotate/${from}`}
          variant="default"
          size="xs"
          mt="xs"
        >
          {mayWrite ? 'Continue' : 'Show'}
        </Button>
      )}
    </div>
  )
}

function KeyLink({ projectId, kid }: { projectId: string; kid: string }) {
  const { data } = useKey(projectId, kid)
  return (
    <TextLink href={`/projects/${projectId}/keys/${kid}`}>
      {data === undefined ? endOf(kid) : <UserText>{data.label}</UserText>}
    </TextLink>
  )
}

function Material({ jwtKey }: { jwtKey: JwtKeyWithDetails }) {
  const { id, details } = jwtKey
  const forms = formsOf(jwtKey)
  const [name, setName] = useState('PEM')
  const form = forms.find((each) => each.name === name) ?? forms[0]
  return (
    <Section title="Public key">
      <Stack gap="md" fz="sm">
        {form !== undefined && (
          <div>
            <Group gap="xs" mb="xs" justify="space-between" wrap="nowrap">
              <SegmentedControl
                size="xs"
                aria-label="Form"
                data={forms.map((each) => each.name)}
                value={form.name}
                onChange={setName}
              />
              <Group gap={4} wrap="nowrap">
                <CopyButton value={form.text} name={form.name} />
                <Tooltip label={`Download ${form.fileName}`}>
                  <ToolButton
                    variant="subtle"
                    color="gray"
                    size="md"
                    Icon={IconDownload}
                    label={`Download ${form.name}`}
                    onClick={() => download(form.fileName, [form.text])}
                  />
                </Tooltip>
              </Group>
            </Group>
            <Code block mah={320} tabIndex={0} role="group" aria-label={form.name}>
              {form.text}
            </Code>
          </div>
        )}
        <CopyField label="kid" value={id} />
        {details.publishedKid !== undefined && (
          <CopyField label="Published kid" value={details.publishedKid} />
        )}
        <CopyField label="Thumbprint (RFC 7638)" value={details.thumbprint} />
        <CopyField label="SHA-256 of the SPKI" value={details.spkiSha256} />
      </Stack>
    </Section>
  )
}
