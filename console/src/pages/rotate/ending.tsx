import { Button, Group, Stack, Text } from '@mantine/core'
import type { JwtKey, Rotation } from '@pubring/client'
import { useState } from 'react'
import { Countdown } from '../../components/countdown.tsx'
import { exactTime } from '../../components/times.tsx'
import { UserText } from '../../components/user-text.tsx'
import { ActionForm } from '../../forms/action-form.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { useRotationChanges } from '../../keys/rotations.ts'
import { useRights } from '../../session/rights.ts'
import { KeyDialog } from '../project/key-dialogs.tsx'
import { fromTokenLifetime, TokenLifetimeField, toTokenLifetime } from './token-lifetime.tsx'

/** Finishes the rotation: the old key expires once its last token has. */
export function FinishForm({ rotation, oldKey }: { rotation: Rotation; oldKey: JwtKey }) {
  const draft = `finish.${rotation.id}`
  const stored = { minutes: fromTokenLifetime(rotation.tokenLifetime) }
  const [{ minutes }, change] = useDraft(draft, stored)
  const tokenLifetime = toTokenLifetime(minutes)
  const changed = tokenLifetime === rotation.tokenLifetime ? undefined : tokenLifetime
  const { request, run } = useRotationChanges(rotation).finish(changed)
  return (
    <ActionForm
      action="The signer uses the new key"
      missing={[tokenLifetime === undefined && 'the maximum token lifetime']}
      draft={draft}
      request={request}
      run={run}
    >
      <Text>
        Once all signers use the new key, “<UserText>{oldKey.label}</UserText>” has to stay active
        until the last token that it signed has expired. It expires then, by itself.
      </Text>
      <TokenLifetimeField value={minutes} onValue={(value) => change({ minutes: value })} />
    </ActionForm>
  )
}

/** When the old key expires. */
export function EndOfOldKey(props: { rotation: Rotation; oldKey: JwtKey; keys: JwtKey[] }) {
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
          <Text size="sm">
            “<UserText>{oldKey.label}</UserText>” expires at {exactTime(expireTime)}. If a signer
            still uses it, change its expiry on the page of the key.
          </Text>
        </>
      )}
      {mayWrite && (
        <Group justify="flex-end">
          <Button color="red.8" onClick={() => setIsAsking(true)}>
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
