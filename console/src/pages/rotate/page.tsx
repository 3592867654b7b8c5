import { Anchor, Button, Card, Select, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import type { JwtKey, JwtKeyWithDetails, Project } from '../../../../client/src/index.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { EmptyState, LoadingRows, PageHead } from '../../components/states.tsx'
import { useKey, useKeys, useLiveProject, useProject } from '../../keys/queries.ts'
import { useRights } from '../../session/context.tsx'
import { type Rotation, readRotation, writeRotation } from '../../session/rotations.ts'
import { KeyForm } from '../project/key-form.tsx'
import { Registered } from '../project/new-key.tsx'
import { Deletion, SwitchOff, SwitchOn } from './key-steps.tsx'
import { Progression, steps } from './stepper.tsx'
import { SwitchSigner } from './switch-signer.tsx'

/** Replaces a key by another, step by step; can be left at any step and taken up again. */
export function RotatePage({ project: name, oldKid }: { project: string; oldKid: string }) {
  const { mayWrite } = useRights()
  const project = useProject(name)
  const keys = useKeys(project.data?.id)
  useLiveProject(project.data?.id, project.data?.revision)
  if (project.isError) return <ErrorNotice error={project.error} />
  if (keys.isError) return <ErrorNotice error={keys.error} />
  if (!mayWrite) {
    return (
      <EmptyState title="Your API key may only read">
        Rotating keys takes one with the role writer.
      </EmptyState>
    )
  }
  if (project.isPending || keys.isPending) return <LoadingRows rows={6} />
  return <Guide project={project.data} keys={keys.data} oldKid={oldKid} />
}

/** Where a rotation stands: an index into `steps`; past them, it is done. */
function stepOf(
  rotation: Rotation,
  newKey: JwtKeyWithDetails | undefined,
  oldKey?: JwtKey,
): number {
  if (oldKey === undefined) return steps.length
  if (newKey === undefined) return 0
  if (!newKey.active && oldKey.active) return 1
  if (Date.parse(newKey.details.convergedTime) > Date.now()) return 1
  if (rotation.switchTime === undefined && oldKey.active) return 2
  return oldKey.active ? 3 : 4
}

function Guide({ project, keys, oldKid }: { project: Project; keys: JwtKey[]; oldKid: string }) {
  const [rotation, setRotation] = useState(() => readRotation(oldKid))
  const [, look] = useState(0)
  const oldKey = keys.find(({ id }) => id === oldKid)
  const newKid = keys.find(({ id }) => id === rotation.newKid)?.id
  const newKey = useKey(project.id, newKid)
  function advance(progress: Rotation) {
    const next = { ...rotation, ...progress }
    writeRotation(oldKid, next)
    setRotation(next)
  }
  if (newKid !== undefined && newKey.isPending) return <LoadingRows rows={6} />
  if (oldKey === undefined && rotation.newKid === undefined) {
    return (
      <EmptyState title="There is no such key">
        It may have been deleted: the history of the project says by whom.
      </EmptyState>
    )
  }
  const step = stepOf(rotation, newKey.data, oldKey)
  const back = `/projects/${project.id}`
  return (
    <>
      <PageHead title="Rotate a key">
        {oldKey && <>“{oldKey.label}” in </>}
        <Anchor component={Link} href={back} underline="always">
          {project.name}
        </Anchor>
        . Leave at any step: this tab remembers, and the steps are safe to take days apart.
      </PageHead>
      <Card withBorder padding="lg">
        <Progression step={step} />
        {step === 0 && (
          <Begin
            project={project}
            candidates={keys.filter(({ id, active }) => active && id !== oldKid)}
            onChosen={(kid) => advance({ newKid: kid })}
          />
        )}
        {step === 1 && newKid !== undefined && (
          <>
            <Registered projectId={project.id} kid={newKid} onKnown={() => look(Date.now())} />
            {newKey.data?.active === false && <SwitchOn jwtKey={newKey.data} />}
          </>
        )}
        {step === 2 && newKey.data && (
          <SwitchSigner
            jwtKey={newKey.data}
            onSwitched={(tokenLife) => advance({ switchTime: new Date().toISOString(), tokenLife })}
          />
        )}
        {step === 3 && oldKey && <SwitchOff jwtKey={oldKey} keys={keys} rotation={rotation} />}
        {step === 4 && oldKey && <Deletion jwtKey={oldKey} />}
        {step === steps.length && (
          <EmptyState
            title="The key is rotated"
            action={
              <Button component={Link} href={back} mt="sm">
                Back to the keys
              </Button>
            }
          >
            The old key is gone and its kid is never used again.
          </EmptyState>
        )}
      </Card>
    </>
  )
}

function Begin(props: { project: Project; candidates: JwtKey[]; onChosen(kid: string): void }) {
  const { project, candidates, onChosen } = props
  return (
    <Stack>
      <Text>
        Make a new key pair where the tokens are signed, and register its public half. The old key
        goes on working.
      </Text>
      {candidates.length > 0 && (
        <Select
          label="Or take one that is registered already"
          placeholder="Choose a key"
          data={candidates.map(({ id, label }) => ({
            value: id,
            label: `${label} (${id.slice(0, 8)}…)`,
          }))}
          onChange={(kid) => kid !== null && onChosen(kid)}
          maw={460}
        />
      )}
      <KeyForm projectId={project.id} onCancel={() => history.back()} onRegistered={onChosen} />
    </Stack>
  )
}
