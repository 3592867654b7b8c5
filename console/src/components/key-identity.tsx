import type { JwtKey } from '@pubring/client'
import { sentenceOf } from '../events/sentences.ts'
import { useKeyEvent } from '../keys/events.ts'
import { describeMaterial } from '../keys/material.ts'
import { useKeyRow } from '../keys/states.ts'
import { Fact, Facts } from './facts.tsx'
import { KeyStateBadge } from './key-state-badge.tsx'
import { RelativeTime } from './times.tsx'
import { UserText } from './user-text.tsx'

/** The facts that tell a key from others, for the confirmation of an action. */
export function KeyIdentity({ jwtKey }: { jwtKey: JwtKey }) {
  const { id, label, algorithm, createTime } = jwtKey
  const row = useKeyRow(jwtKey)
  const material = describeMaterial(jwtKey)
  return (
    <Facts name="The key">
      <Fact name="Label">
        <UserText>{label}</UserText>
      </Fact>
      <Fact name="State">
        <KeyStateBadge row={row} />
      </Fact>
      <Fact name="kid">
        <span className="mono">{id}</span>
      </Fact>
      <Fact name="Algorithm">
        {algorithm} {material}
      </Fact>
      <Fact name="Registered">
        <RelativeTime time={createTime} />
      </Fact>
      <Fact name="Last event">
        <LastEvent jwtKey={jwtKey} />
      </Fact>
    </Facts>
  )
}

/** Who changed the key last, and how; its time alone if the event is not among the newest. */
function LastEvent({ jwtKey: { id, projectId, updateTime } }: { jwtKey: JwtKey }) {
  const { data: event } = useKeyEvent(projectId, id, 'last')
  if (event == null) {
    return (
      <>
        Changed <RelativeTime time={updateTime} />
      </>
    )
  }
  const { verb, rest } = sentenceOf(event, undefined)
  return (
    <>
      {verb} {rest} by <UserText>{event.actor.name}</UserText>, <RelativeTime time={event.time} />
    </>
  )
}
