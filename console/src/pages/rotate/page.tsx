import { Card, Select, Stack, Text } from '@mantine/core'
import type { Client, JwtKey, Project, Rotation } from '@pubring/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import {
  both,
  ErrorNotice,
  MessagePage,
  Notice,
  PageHeader,
  QueryResult,
} from '../../components/states.tsx'
import { endOf, quoted, TextLink, UserText, withVisibleControls } from '../../components/text.tsx'
import { ActionForm, useDraft } from '../../forms/action-form.tsx'
import { useKeyRefresh, useRefreshAt } from '../../keys/live.ts'
import { isSuperseded, useKeyRow, useKeyRows, useKeyStates, useKeys } from '../../keys/queries.ts'
import { changedByRotations, isUnderWay, useRotations } from '../../keys/rotations.ts'
import { useChange, useRights, useSession } from '../../session/session.tsx'
import { ProjectWarnings } from '../../warnings/project-warnings.tsx'
import { LiveProject } from '../live-project.tsx'
import { KeyForm } from '../project/key-form.tsx'
import { RotationStepper } from './stepper.tsx'
import { RotationSteps } from './steps.tsx'
import { TokenLifetimeField, toTokenLifetime } from './token-lifetime.tsx'

/** Replaces a key with a new one, step by step. The service keeps the steps, so all users see the same. */
export const RotatePage = ({ project: name, oldKid }: { project: string; oldKid: string }) => (
  <LiveProject name={name} rows={6}>
    {(project) => <RotationOfProject project={project} oldKid={oldKid} />}
  </LiveProject>
)

function RotationOfProject({ project, oldKid }: { project: Project; oldKid: string }) {
  const query = both(useKeys(project.id), useRotations(project.id))
  return (
    <QueryResult query={query} rows={6}>
      {([keys, rotations]) => (
        <LoadedPage project={project} keys={keys} rotations={rotations} oldKid={oldKid} />
      )}
    </QueryResult>
  )
}

type LoadedProps = { project: Project; keys: JwtKey[]; rotations: Rotation[]; oldKid: string }

function LoadedPage({ project, keys, rotations, oldKid }: LoadedProps) {
  const oldKey = keys.find(({ id }) => id === oldKid)
  const refresh = useKeyRefresh(project.id)
  useRefreshAt([oldKey?.expireTime], () => refresh([oldKid]))
  const [latest] = rotations.filter(({ from }) => from === oldKid)
  const rotation = latest && !isOver(latest, oldKey) ? latest : undefined
  if (oldKey === undefined && rotation === undefined) {
    return (
      <MessagePage title="Key not found">
        It may have been deleted. The history of the project has the details.
      </MessagePage>
    )
  }
  const title = oldKey ? `Rotate ${quoted(oldKey.label)}` : 'Rotate a key'
  return (
    <>
      <PageHeader title={title} name={`${title} · ${project.name}`}>
        In <TextLink href={`/projects/${project.id}`}>{project.name}</TextLink>. You can leave at
        any step: you or a colleague continue here
        {rotation && isUnderWay(rotation) && (
          <>
            , or with{' '}
            <span className="mono">
              pubring key rotate --resume {rotation.id} --project {project.name}
            </span>
          </>
        )}
        .
      </PageHeader>
      <ProjectWarnings projectId={project.id} kid={oldKid} />
      <Card withBorder padding="lg">
        {rotation !== undefined ? (
          <RotationSteps project={project} keys={keys} rotation={rotation} />
        ) : (
          oldKey && <Start project={project} keys={keys} rotations={rotations} oldKey={oldKey} />
        )}
      </Card>
    </>
  )
}

/** Whether the rotation was abandoned, or its old key was activated after its end. */
function isOver({ state, endTime }: Rotation, oldKey: JwtKey | undefined): boolean {
  if (state === 'abandoned') return true
  return endTime !== undefined && oldKey?.active === true && oldKey.updateTime > endTime
}

function Start(props: Omit<LoadedProps, 'oldKid'> & { oldKey: JwtKey }) {
  const { project, keys, rotations, oldKey } = props
  const { mayWrite } = useRights(project.id)
  const { state } = useKeyRow(oldKey)
  const replaced = rotations.find((each) => isUnderWay(each) && each.to === oldKey.id)
  const replacedKey = keys.find(({ id }) => id === replaced?.from)
  if (!mayWrite) return <>Rotating a key requires the role writer.</>
  if (!oldKey.active) return <>The key is not active: verifiers do not accept it any more.</>
  if (state === 'compromised') {
    return (
      <>
        The key is compromised, and a rotation would wait:{' '}
        <TextLink href={`/projects/${project.id}/keys/${oldKey.id}`}>
          replace and revoke it now
        </TextLink>
        .
      </>
    )
  }
  return (
    <>
      {replacedKey && (
        <Notice tone="info" mb="md">
          This key replaces “<UserText>{replacedKey.label}</UserText>” in a rotation that is under
          way.{' '}
          <TextLink href={`/projects/${project.id}/rotate/${replacedKey.id}`}>
            Continue that one
          </TextLink>
        </Notice>
      )}
      <ChooseNewKey project={project} keys={keys} oldKey={oldKey} />
    </>
  )
}

function ChooseNewKey(props: { project: Project; keys: JwtKey[]; oldKey: JwtKey }) {
  const { project, keys, oldKey } = props
  const [{ minutes }, change] = useDraft(`rotation.${oldKey.id}`, { minutes: '' })
  const tokenLifetime = toTokenLifetime(minutes)
  const missingLifetime = tokenLifetime === undefined && 'the maximum token lifetime'
  const start = (client: Client, to: string) =>
    client.rotations.start(project.id, { from: oldKey.id, to, tokenLifetime: tokenLifetime ?? 0 })
  const changes = changedByRotations(project.id)
  const send = useChange(...changes)
  const { withSignIn } = useSession()
  const { mutate, error } = useMutation({
    mutationFn: (to: string) => withSignIn(() => send((client) => start(client, to))),
  })
  const [chosen, setChosen] = useState<string | null>(null)
  const { data: states = [] } = useKeyStates(project.id)
  const candidates = useKeyRows(keys, states).filter(
    (key) =>
      key.active && key.state !== 'compromised' && !isSuperseded(key) && key.id !== oldKey.id,
  )
  return (
    <>
      <RotationStepper step={0} />
      <Stack>
        <Text size="md">
          Generate a new key pair where you sign tokens, and register its public key. The old key
          keeps working.
        </Text>
        <TokenLifetimeField value={minutes} onValue={(value) => change({ minutes: value })} />
        {error !== null && <ErrorNotice error={error} />}
        <KeyForm
          projectId={project.id}
          missing={[missingLifetime]}
          onCancel={() => history.back()}
          onRegistered={mutate}
        />
        {candidates.length > 0 && (
          <ActionForm
            action="Start with this key"
            missing={[chosen === null && 'a registered key', missingLifetime]}
            changes={changes}
            send={(client) => start(client, chosen ?? 'KID')}
          >
            <Select
              label="Or use a key that is already registered"
              placeholder="Choose a key"
              data={candidates.map(({ id, label }) => ({
                value: id,
                label: `${withVisibleControls(label)} (${endOf(id)})`,
              }))}
              value={chosen}
              onChange={setChosen}
              maw={460}
            />
          </ActionForm>
        )}
      </Stack>
    </>
  )
}
