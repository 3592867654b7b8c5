import { Button, Group, Stack, Text } from '@mantine/core'
import type { JwtKey, Project, Rotation } from '@pubring/client'
import { useState } from 'react'
import { Link } from 'wouter'
import { Countdown } from '../../components/countdown.tsx'
import { Facts } from '../../components/facts.tsx'
import { KeyIdentity } from '../../components/key-identity.tsx'
import { EmptyState, Notice, QueryResult } from '../../components/states.tsx'
import { exactTime, RelativeTime, TextLink, UserText, useNow } from '../../components/text.tsx'
import { ActorName } from '../../events/actor.tsx'
import { ActionDialog, ActionForm, useDraft } from '../../forms/action-form.tsx'
import { useKey, useKeyChanges, useKeyRow } from '../../keys/queries.ts'
import { changedByRotations, isUnderWay } from '../../keys/rotations.ts'
import { KeyUses } from '../../keys/uses.tsx'
import { useRights } from '../../session/session.tsx'
import { KeyDialog } from '../project/key-dialogs.tsx'
import { NewKeyInstructions, TokenHeader } from '../project/new-key.tsx'
import { RotationStepper, steps } from './stepper.tsx'
import { fromTokenLifetime, TokenLifetimeField, toTokenLifetime } from './token-lifetime.tsx'

type StepsProps = { project: Project; keys: JwtKey[]; rotation: Rotation }

/** The current step as an index into `steps`; their number when the rotation is complete. */
function currentStep(rotation: Rotation, oldKey: JwtKey | undefined): number {
  if (oldKey === undefined) return steps.length
  if (!isUnderWay(rotation)) return oldKey.active ? 3 : 4
  return rotation.state === 'spreading' ? 1 : 2
}

export function RotationSteps({ project, keys, rotation }: StepsProps) {
  const { mayWrite } = useRights(project.id)
  const [oldKey, newKey] = [rotation.from, rotation.to].map((kid) =>
    keys.find(({ id }) => id === kid),
  )
  const step = currentStep(rotation, oldKey)
  return (
    <>
      <RotationStepper step={step} />
      <Stack>
        <RotationFacts rotation={rotation} oldKey={oldKey} newKey={newKey} />
        {step === 1 && (
          <>
            <NewKeyInstructions projectId={project.id} kid={rotation.to} />
            {newKey && rotation.convergedTime === undefined && (
              <Notice tone="warning">
                The new key cannot take over.{' '}
                <TextLink href={`/projects/${project.id}/keys/${newKey.id}`}>Its page</TextLink>{' '}
                says why, and what to do.
              </Notice>
            )}
          </>
        )}
        {step === 2 && newKey && <SwitchSigner jwtKey={newKey} />}
        {step === 2 && oldKey && mayWrite && <FinishForm rotation={rotation} oldKey={oldKey} />}
        {step === 3 && oldKey && <EndOfOldKey rotation={rotation} oldKey={oldKey} keys={keys} />}
        {step === 4 && oldKey && (
          <>
            <Notice tone="good" title="The rotation is finished">
              The old key is no longer published. It stays until you delete it.
            </Notice>
            <DeleteOldKey jwtKey={oldKey} />
          </>
        )}
        {step === steps.length && (
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
        )}
        {mayWrite && isUnderWay(rotation) && <Abandon rotation={rotation} />}
      </Stack>
    </>
  )
}

function RotationFacts(props: {
  rotation: Rotation
  oldKey: JwtKey | undefined
  newKey: JwtKey | undefined
}) {
  const { rotation, oldKey, newKey } = props
  const name = (key: JwtKey | undefined, kid: string) => (
    <>
      {key === undefined ? 'Deleted' : <UserText>{key.label}</UserText>}{' '}
      <span className="mono">{kid}</span>
    </>
  )
  return (
    <Facts
      name="The rotation"
      facts={{
        'Old key': name(oldKey, rotation.from),
        'New key': name(newKey, rotation.to),
        'Started by': (
          <>
            <ActorName actor={rotation.startedBy} />, <RelativeTime time={rotation.createTime} />
          </>
        ),
        ...(rotation.endTime !== undefined && {
          'Signer switched': <RelativeTime time={rotation.endTime} />,
        }),
      }}
    />
  )
}

function SwitchSigner({ jwtKey }: { jwtKey: JwtKey }) {
  const query = useKey(jwtKey.projectId, jwtKey.id)
  return (
    <QueryResult query={query} rows={2}>
      {({ details: { jwsAlgorithm, publishedKid } }) => (
        <Stack>
          <Text size="md">
            Verifiers know “<UserText>{jwtKey.label}</UserText>”. Sign with its private key now, and
            set this header in your tokens:
          </Text>
          <TokenHeader alg={jwsAlgorithm} kid={publishedKid ?? jwtKey.id} />
          <Text c="dimmed">
            Before you continue,{' '}
            <TextLink href={`/projects/${jwtKey.projectId}/verify`}>
              check one of the new tokens
            </TextLink>
            .
          </Text>
        </Stack>
      )}
    </QueryResult>
  )
}

function DeleteOldKey({ jwtKey }: { jwtKey: JwtKey }) {
  const { mayWrite } = useRights(jwtKey.projectId)
  const change = useKeyChanges(jwtKey).remove()
  const query = useKey(jwtKey.projectId, jwtKey.id)
  const now = useNow(1_000)
  return (
    <QueryResult query={query} rows={2}>
      {({ updateTime, details: { convergedTime } }) => {
        const countdown = (
          <Countdown
            from={updateTime}
            until={convergedTime}
            waiting="Verifiers may still accept the old key"
            done="Verifiers have dropped the old key"
            since="All verifiers that honor the cache headers have rejected it since"
          />
        )
        if (!mayWrite) return countdown
        return (
          <ActionForm
            action="Delete the old key"
            danger
            missing={[
              Date.parse(convergedTime) > now && 'the time until verifiers have dropped it',
            ]}
            {...change}
          >
            {countdown}
            <KeyIdentity jwtKey={jwtKey} />
            <Text size="md">
              You can keep the inactive key in case you need it again. After deletion its history
              stays in the ledger.
            </Text>
          </ActionForm>
        )
      }}
    </QueryResult>
  )
}

function Abandon({ rotation }: { rotation: Rotation }) {
  const [asking, setAsking] = useState(false)
  const { projectId, id } = rotation
  return (
    <Group>
      <Button variant="subtle" color="gray" onClick={() => setAsking(true)}>
        Abandon this rotation…
      </Button>
      {asking && (
        <ActionDialog
          title="Abandon this rotation?"
          action="Abandon"
          danger
          changes={changedByRotations(projectId)}
          send={(client) => client.rotations.abandon(projectId, id)}
          onClose={() => setAsking(false)}
        >
          No key is changed: both stay active, and signers can go on with either. The history keeps
          the rotation.
        </ActionDialog>
      )}
    </Group>
  )
}

function FinishForm({ rotation, oldKey }: { rotation: Rotation; oldKey: JwtKey }) {
  const { projectId, id } = rotation
  const draft = `finish.${id}`
  const stored = { minutes: fromTokenLifetime(rotation.tokenLifetime) }
  const [{ minutes }, change] = useDraft(draft, stored)
  const tokenLifetime = toTokenLifetime(minutes)
  const changed = tokenLifetime === rotation.tokenLifetime ? undefined : tokenLifetime
  const row = useKeyRow(oldKey)
  return (
    <ActionForm
      action="The signer uses the new key"
      missing={[tokenLifetime === undefined && 'the maximum token lifetime']}
      draft={draft}
      changes={changedByRotations(projectId)}
      // With another lifetime, it takes two requests.
      {...(changed !== undefined && { shown: false })}
      send={async ({ rotations }) => {
        if (changed !== undefined) await rotations.update(projectId, id, { tokenLifetime: changed })
        return rotations.finish(projectId, id)
      }}
    >
      <Text size="md">
        Once all signers use the new key, “<UserText>{oldKey.label}</UserText>” has to stay active
        until the last token that it signed has expired. It expires then, by itself.
      </Text>
      <KeyUses keys={[row]} />
      <TokenLifetimeField value={minutes} onValue={(value) => change({ minutes: value })} />
    </ActionForm>
  )
}

function EndOfOldKey(props: { rotation: Rotation; oldKey: JwtKey; keys: JwtKey[] }) {
  const { rotation, oldKey, keys } = props
  const { mayWrite } = useRights(oldKey.projectId)
  const [isAsking, setIsAsking] = useState(false)
  const { expireTime, endTime = rotation.updateTime } = rotation
  return (
    <Stack>
      {expireTime !== undefined && (
        <>
          <Countdown
            from={endTime}
            until={expireTime}
            waiting="Tokens of the old key may still be valid"
            done="The old key expires"
            since="Its expiry was set to"
          />
          <Text>
            “<UserText>{oldKey.label}</UserText>” expires at {exactTime(expireTime)}, by itself. If
            a signer still uses it, change its expiry on the page of the key.
          </Text>
        </>
      )}
      {mayWrite && (
        <Group justify="flex-end">
          <Button variant="default" onClick={() => setIsAsking(true)}>
            Deactivate the old key now…
          </Button>
          {isAsking && (
            <KeyDialog
              action="deactivate"
              jwtKey={oldKey}
              keys={keys}
              onClose={() => setIsAsking(false)}
            />
          )}
        </Group>
      )}
    </Stack>
  )
}
