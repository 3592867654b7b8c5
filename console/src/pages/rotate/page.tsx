import { Anchor, Button, Card, Select, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import type { JwtKey, JwtKeyWithDetails, Project } from '../../../../client/src/index.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { EmptyState, LoadingRows, MessagePage, PageHeader } from '../../components/states.tsx'
import { withVisibleControls } from '../../components/user-text.tsx'
import { useKey, useKeys, useLiveProject, useProject } from '../../keys/queries.ts'
import { useRights } from '../../session/rights.ts'
import { type Rotation, readRotation, writeRotation } from '../../session/rotations.ts'
import { KeyForm } from '../project/key-form.tsx'
import { NewKeyInstructions } from '../project/new-key.tsx'
import { ActivateNewKey, DeactivateOldKey, DeleteOldKey } from './key-steps.tsx'
import { RotationStepper, steps } from './stepper.tsx'
import { SwitchSigner } from './switch-signer.tsx'

/** Replaces a key with a new one, step by step. The user can leave and continue at any step. */
export function RotatePage({ project: name, oldKid }: { project: string; oldKid: string }) {
  const project = useProject(name)
  const { mayWrite } = useRights(project.data?.id)
  const keys = useKeys(project.data?.id)
  useLiveProject(project.data)
  const failed = [project, keys].find(({ isLoadingError }) => isLoadingError)
  if (failed) return <ErrorNotice error={failed.error} retry={() => void failed.refetch()} />
  if (project.data !== undefined && !mayWrite) {
    return <MessagePage title="Rotate a key">Rotating a key requires the role writer.</MessagePage>
  }
  if (project.data === undefined || keys.data === undefined) return <LoadingRows rows={6} />
  return <LoadedRotation project={project.data} keys={keys.data} oldKid={oldKid} />
}

type RotationState = {
  project: Project
  keys: JwtKey[]
  oldKey: JwtKey | undefined
  newKey: JwtKeyWithDetails | undefined
  rotation: Rotation
}

/** The current step as an index into `steps`; their number when the rotation is complete. */
function currentStep({ oldKey, newKey, rotation }: RotationState): number {
  if (oldKey === undefined) return steps.length
  if (newKey === undefined) return 0
  if (!newKey.active && oldKey.active) return 1
  if (Date.parse(newKey.details.convergedTime) > Date.now()) return 1
  if (rotation.switchTime === undefined && oldKey.active) return 2
  return oldKey.active ? 3 : 4
}

function LoadedRotation(props: { project: Project; keys: JwtKey[]; oldKid: string }) {
  const { project, keys, oldKid } = props
  const [rotation, setRotation] = useState(() => readRotation(oldKid))
  const oldKey = keys.find(({ id }) => id === oldKid)
  const newKid = keys.find(({ id }) => id === rotation.newKid)?.id
  const newKey = useKey(project.id, newKid)
  function advance(progress: Rotation) {
    const next = { ...rotation, ...progress }
    writeRotation(oldKid, next)
    setRotation(next)
  }
  if (newKid !== undefined && newKey.data === undefined) {
    if (newKey.isPending) return <LoadingRows rows={6} />
    return <ErrorNotice error={newKey.error} retry={() => void newKey.refetch()} />
  }
  if (oldKey === undefined && rotation.newKid === undefined) {
    return (
      <MessagePage title="Key not found">
        It may have been deleted. The history of the project has the details.
      </MessagePage>
    )
  }
  const title = oldKey ? `Rotate “${withVisibleControls(oldKey.label)}”` : 'Rotate a key'
  return (
    <>
      <PageHeader title={title} name={`${title} · ${project.name}`}>
        In{' '}
        <Anchor component={Link} href={`/projects/${project.id}`} underline="always">
          {project.name}
        </Anchor>
        . You can leave at any step and continue later in this tab.
      </PageHeader>
      <Card withBorder padding="lg">
        <RotationSteps
          state={{ project, keys, oldKey, newKey: newKey.data, rotation }}
          onAdvance={advance}
        />
      </Card>
    </>
  )
}

function RotationSteps(props: { state: RotationState; onAdvance(progress: Rotation): void }) {
  const { state, onAdvance } = props
  const { project, keys, oldKey, newKey, rotation } = state
  // Renders again when the new key has converged.
  const [, setTime] = useState(0)
  const step = currentStep(state)
  return (
    <>
      <RotationStepper step={step} />
      {step === 0 && (
        <ChooseNewKey
          project={project}
          candidates={keys.filter(({ id, active }) => active && id !== oldKey?.id)}
          onChosen={(kid) => onAdvance({ newKid: kid })}
        />
      )}
      {step === 1 && newKey && (
        <Stack>
          <NewKeyInstructions
            projectId={project.id}
            kid={newKey.id}
            onConverged={() => setTime(Date.now())}
          />
          {!newKey.active && <ActivateNewKey jwtKey={newKey} />}
        </Stack>
      )}
      {step === 2 && newKey && (
        <SwitchSigner
          jwtKey={newKey}
          onSwitched={(tokenLife) => onAdvance({ switchTime: new Date().toISOString(), tokenLife })}
        />
      )}
      {step === 3 && oldKey && <DeactivateOldKey jwtKey={oldKey} keys={keys} rotation={rotation} />}
      {step === 4 && oldKey && <DeleteOldKey jwtKey={oldKey} />}
      {step === steps.length && <RotationComplete project={project} />}
    </>
  )
}

function ChooseNewKey(props: {
  project: Project
  candidates: JwtKey[]
  onChosen(kid: string): void
}) {
  const { project, candidates, onChosen } = props
  return (
    <Stack>
      <Text>
        Generate a new key pair where you sign tokens, and register its public key. The old key
        keeps working.
      </Text>
      {candidates.length > 0 && (
        <Select
          label="Or use a key that is already registered"
          placeholder="Choose a key"
          data={candidates.map(({ id, label }) => ({
            value: id,
            label: `${withVisibleControls(label)} (${id.slice(0, 8)}…)`,
          }))}
          onChange={(kid) => kid !== null && onChosen(kid)}
          maw={460}
        />
      )}
      <KeyForm projectId={project.id} onCancel={() => history.back()} onRegistered={onChosen} />
    </Stack>
  )
}

function RotationComplete({ project }: { project: Project }) {
  return (
    <EmptyState
      title="Rotation complete"
      action={
        <Button component={Link} href={`/projects/${project.id}`} mt="sm">
          Back to the keys
        </Button>
      }
    >
      The old key was deleted. Its kid is never reused.
    </EmptyState>
  )
}
