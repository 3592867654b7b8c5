import { Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { JwtKey } from '../../../../client/src/index.ts'
import { Countdown } from '../../components/countdown.tsx'
import { KeyIdentity } from '../../components/key-identity.tsx'
import { stateOf } from '../../components/state-badge.tsx'
import { QueryResult } from '../../components/states.tsx'
import { localTime } from '../../components/times.tsx'
import { UserText } from '../../components/user-text.tsx'
import { ActionDialog, ActionForm } from '../../forms/action-form.tsx'
import { useKey, useKeyChanges } from '../../keys/queries.ts'
import { lastTokenExpiry, type Rotation } from '../../session/rotations.ts'
import { isLastActive, LastActiveWarning } from '../project/last-active.tsx'

/** Activates the new key, so that verifiers can load it. An expired one needs another expiry. */
export function ActivateNewKey({ jwtKey }: { jwtKey: JwtKey }) {
  const changes = useKeyChanges(jwtKey)
  if (stateOf(jwtKey, 'inactive') === 'expired') {
    return (
      <ActionForm action="Clear its expiry" {...changes.update({ expireTime: null })}>
        The new key has expired. Clear its expiry to publish it again, or set another one under
        “Keys”.
      </ActionForm>
    )
  }
  return <ActionForm action="Activate the new key" {...changes.update({ active: true })} />
}

/** Deactivates the old key, preferably after its last token has expired. */
export function DeactivateOldKey(props: { jwtKey: JwtKey; keys: JwtKey[]; rotation: Rotation }) {
  const { jwtKey, keys, rotation } = props
  const change = useKeyChanges(jwtKey).update({ active: false })
  const [asking, setAsking] = useState(false)
  const rerender = useRerender()
  const lastExpiry = lastTokenExpiry(rotation)
  const early = lastExpiry !== undefined && Date.parse(lastExpiry) > Date.now()
  return (
    <Stack>
      <Text>
        Tokens signed with “<UserText>{jwtKey.label}</UserText>” verify while the key is active.
        Deactivate it when the last of them has expired. You can activate it again if needed.
      </Text>
      {rotation.switchTime !== undefined && lastExpiry !== undefined && (
        <Countdown
          from={rotation.switchTime}
          until={lastExpiry}
          waiting="Tokens of the old key are still valid"
          done="The last token of the old key has expired"
          since="With the lifetime that you entered, it was valid until"
          onDone={rerender}
        />
      )}
      <Group justify="flex-end">
        <Button color="red.8" onClick={() => setAsking(true)}>
          {early ? 'Deactivate without waiting…' : 'Deactivate the old key…'}
        </Button>
      </Group>
      {asking && (
        <ActionDialog
          title={early ? 'Deactivate without waiting?' : 'Deactivate the old key?'}
          action={early ? 'Deactivate now' : 'Deactivate'}
          danger
          onClose={() => setAsking(false)}
          {...change}
        >
          <KeyIdentity jwtKey={jwtKey} />
          {early && (
            <Text className="warning" fw={600}>
              Tokens of this key may be valid until {localTime(lastExpiry)}: verifiers will reject
              them within seconds or minutes.
            </Text>
          )}
          {isLastActive(jwtKey, keys) && <LastActiveWarning />}
        </ActionDialog>
      )}
    </Stack>
  )
}

/** Deletes the old key once verifiers have dropped it. */
export function DeleteOldKey({ jwtKey }: { jwtKey: JwtKey }) {
  const change = useKeyChanges(jwtKey).remove()
  const query = useKey(jwtKey.projectId, jwtKey.id)
  const rerender = useRerender()
  return (
    <QueryResult query={query} rows={2}>
      {({ updateTime, details: { convergedTime } }) => (
        <ActionForm
          action="Delete the old key"
          danger
          missing={[
            Date.parse(convergedTime) > Date.now() && 'the time until verifiers have dropped it',
          ]}
          {...change}
        >
          <Countdown
            from={updateTime}
            until={convergedTime}
            waiting="Verifiers may still accept the old key"
            done="Verifiers have dropped the old key"
            since="All verifiers that honor the cache headers have rejected it since"
            onDone={rerender}
          />
          <KeyIdentity jwtKey={jwtKey} />
          <Text>
            You can keep the inactive key in case you need it again. After deletion its history
            stays in the ledger.
          </Text>
        </ActionForm>
      )}
    </QueryResult>
  )
}

function useRerender(): () => void {
  const [, setTime] = useState(0)
  return () => setTime(Date.now())
}
