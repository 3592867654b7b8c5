import { Text } from '@mantine/core'
import { useState } from 'react'
import type { JwtKey } from '../../../../client/src/index.ts'
import { ActionForm } from '../../components/action-form.tsx'
import { Countdown } from '../../components/countdown.tsx'
import { QueryResult } from '../../components/states.tsx'
import { useKey, useKeyChanges } from '../../keys/queries.ts'
import { lastTokenExpiry, type Rotation } from '../../session/rotations.ts'
import { isLastActive, LastActiveWarning } from '../project/last-active.tsx'

/** Activates the new key, so that verifiers can load it. */
export function ActivateNewKey({ jwtKey }: { jwtKey: JwtKey }) {
  const change = useKeyChanges(jwtKey).update({ active: true })
  return <ActionForm action="Activate the new key" {...change} />
}

/** Deactivates the old key, preferably after its last token has expired. */
export function DeactivateOldKey(props: { jwtKey: JwtKey; keys: JwtKey[]; rotation: Rotation }) {
  const { jwtKey, keys, rotation } = props
  const change = useKeyChanges(jwtKey).update({ active: false })
  const rerender = useRerender()
  const lastExpiry = lastTokenExpiry(rotation)
  const early = lastExpiry !== undefined && Date.parse(lastExpiry) > Date.now()
  return (
    <ActionForm
      action={early ? 'Deactivate without waiting' : 'Deactivate the old key'}
      danger
      {...change}
    >
      <Text>
        Tokens signed with “{jwtKey.label}” verify while the key is active. Deactivate it when the
        last of them has expired. You can activate it again if needed.
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
      {isLastActive(jwtKey, keys) && <LastActiveWarning />}
    </ActionForm>
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
          disabled={Date.parse(convergedTime) > Date.now()}
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
