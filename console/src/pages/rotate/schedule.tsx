import { Button, Group, NumberInput, Select, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { JwtKey, Rotation } from '../../../../client/src/index.ts'
import { Countdown } from '../../components/countdown.tsx'
import { KeyIdentity } from '../../components/key-identity.tsx'
import { exactTime } from '../../components/times.tsx'
import { UserText } from '../../components/user-text.tsx'
import { ActionDialog, ActionForm } from '../../forms/action-form.tsx'
import { useDescendants } from '../../forms/descendants.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { useRotationChanges } from '../../keys/rotations.ts'
import { useRights } from '../../session/rights.ts'
import { isLastActive, LastActiveWarning } from '../project/last-active.tsx'

type ScheduleProps = { rotation: Rotation; oldKey: JwtKey; keys: JwtKey[] }

const minute = 60_000
const day = 86_400_000

/** When the old key is deactivated: now, or at a time that the service keeps. */
export function Schedule(props: ScheduleProps) {
  const { rotation, oldKey } = props
  const { mayWrite } = useRights(oldKey.projectId)
  const [editing, setEditing] = useState(false)
  const { schedule, updateTime } = rotation
  const disableTime = schedule?.disableTime
  const isWaiting = schedule?.waitingReason !== undefined
  const showForm = mayWrite && (editing || disableTime === undefined || isWaiting)
  return (
    <Stack>
      {schedule && disableTime !== undefined && !isWaiting && (
        <>
          <Countdown
            from={updateTime}
            until={disableTime}
            waiting="Tokens of the old key may still be valid"
            done="The old key is being deactivated"
            since="It was scheduled for"
          />
          <Text size="sm">
            “<UserText>{oldKey.label}</UserText>” is deactivated at {exactTime(disableTime)}
            {schedule.deleteTime !== undefined &&
              ` and deleted at ${exactTime(schedule.deleteTime)}`}
            . <UserText>{schedule.scheduledBy.name}</UserText> scheduled this; each step is taken
            only if they could still take it then. Otherwise it waits here and says why.
          </Text>
        </>
      )}
      {showForm && <ScheduleForm {...props} onDone={() => setEditing(false)} />}
      {mayWrite && (
        <Group justify="flex-end">
          {disableTime !== undefined && !showForm && (
            <>
              <Button variant="default" onClick={() => setEditing(true)}>
                Change the schedule
              </Button>
              <Unschedule rotation={rotation} />
            </>
          )}
          <DeactivateNow {...props} />
        </Group>
      )}
    </Stack>
  )
}

const deletions = [
  { value: '', label: 'Keep it, deactivated' },
  { value: '1', label: 'Delete it a day later' },
  { value: '7', label: 'Delete it a week later' },
  { value: '30', label: 'Delete it 30 days later' },
]

// Long because of the form.
function ScheduleForm({ rotation, oldKey, onDone }: ScheduleProps & { onDone(): void }) {
  const draft = `schedule.${rotation.id}`
  const [{ lifetime, deletion }, change] = useDraft(draft, { lifetime: '', deletion: '' })
  const descendants = useDescendants()
  const earliest = Math.max(Date.now(), Date.parse(rotation.convergedTime ?? ''))
  const off = earliest + Number(lifetime) * minute
  const disableTime = new Date(off).toISOString()
  const deleteTime = deletion === '' ? null : new Date(off + Number(deletion) * day).toISOString()
  const body = { disableTime, deleteTime, ...descendants.decision }
  const { request, run } = useRotationChanges(rotation).schedule(body)
  return (
    <ActionForm
      action="The signer uses the new key"
      missing={[lifetime === '' && 'the maximum token lifetime']}
      draft={draft}
      request={request}
      run={async () => {
        await descendants.watch(run)
        onDone()
      }}
    >
      <Text>
        Once all signers use the new key, the old one has to stay active until the last token that
        it signed has expired. The service deactivates it then.
      </Text>
      <Group align="flex-start">
        <NumberInput
          label="Maximum token lifetime in minutes"
          description="exp minus iat"
          value={lifetime}
          onChange={(value) => change({ lifetime: String(value) })}
          min={0}
          max={525_600}
        />
        <Select
          label="Afterwards"
          description="You can delete it by hand at any time"
          data={deletions}
          value={deletion}
          allowDeselect={false}
          onChange={(value) => change({ deletion: value ?? '' })}
        />
      </Group>
      {lifetime !== '' && (
        <Text size="sm" role="status">
          “<UserText>{oldKey.label}</UserText>” is deactivated at {exactTime(off)}
          {deleteTime !== null && ` and deleted at ${exactTime(deleteTime)}`}.
        </Text>
      )}
      {descendants.field}
    </ActionForm>
  )
}

function Unschedule({ rotation }: { rotation: Rotation }) {
  const [asking, setAsking] = useState(false)
  const change = useRotationChanges(rotation).schedule({ disableTime: null, deleteTime: null })
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
        Remove the schedule…
      </Button>
      {asking && (
        <ActionDialog
          title="Remove the schedule?"
          action="Remove"
          onClose={() => setAsking(false)}
          {...change}
        >
          The rotation stays under way, and the old key stays active until it is deactivated.
        </ActionDialog>
      )}
    </>
  )
}

function DeactivateNow({ rotation, oldKey, keys }: ScheduleProps) {
  const [asking, setAsking] = useState(false)
  const descendants = useDescendants()
  const { request, run } = useRotationChanges(rotation).finish(descendants.decision)
  const disableTime = rotation.schedule?.disableTime
  const isEarly = disableTime === undefined || Date.parse(disableTime) > Date.now()
  return (
    <>
      <Button color="red.8" onClick={() => setAsking(true)}>
        Deactivate the old key now…
      </Button>
      {asking && (
        <ActionDialog
          title="Deactivate the old key now?"
          action="Deactivate now"
          danger
          request={request}
          run={() => descendants.watch(run)}
          onClose={() => setAsking(false)}
        >
          <KeyIdentity jwtKey={oldKey} />
          {isEarly && (
            <Text className="warning" fw={600}>
              Tokens of this key may be valid
              {disableTime === undefined ? ' still' : ` until ${exactTime(disableTime)}`}: verifiers
              will reject them within seconds or minutes.
            </Text>
          )}
          {isLastActive(oldKey, keys) && <LastActiveWarning />}
          {descendants.field}
        </ActionDialog>
      )}
    </>
  )
}
