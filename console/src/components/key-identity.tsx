import type { JwtKey } from '@pubring/client'
import { sentenceOf } from '../events/sentences.ts'
import { describeMaterial } from '../keys/material.ts'
import { useKeyEvent, useKeyRow } from '../keys/queries.ts'
import { Facts } from './facts.tsx'
import { KeyStateBadge } from './state-badge.tsx'
import { RelativeTime, UserText } from './text.tsx'

/** The facts that tell a key from others, for the confirmation of an action. */
export function KeyIdentity({ jwtKey }: { jwtKey: JwtKey }) {
  const { id, label, algorithm, createTime } = jwtKey
  return (
    <Facts
      name="The key"
      facts={{
        Label: <UserText>{label}</UserText>,
        State: <KeyStateBadge row={useKeyRow(jwtKey)} />,
        kid: <span className="mono">{id}</span>,
        Algorithm: `${algorithm} ${describeMaterial(jwtKey)}`,
        Registered: <RelativeTime time={createTime} />,
        'Last event': <LastEvent jwtKey={jwtKey} />,
      }}
    />
  )
}

/** Who changed the key last, and how; its time alone until the event is read. */
function LastEvent({ jwtKey: { id, projectId, updateTime } }: { jwtKey: JwtKey }) {
  const { data: event } = useKeyEvent(projectId, id, 'last')
  const { verb, rest } = event ? sentenceOf(event, undefined) : { verb: 'Changed', rest: '' }
  return (
    <>
      {verb} {rest} {event && 'by '}
      {event && <UserText>{event.actor.name}</UserText>}
      {event && ', '}
      <RelativeTime time={event?.time ?? updateTime} />
    </>
  )
}
