import { useQuery } from '@tanstack/react-query'
import type { JwtKey } from '../../../client/src/index.ts'
import { sentenceOf } from '../events/sentences.ts'
import { describeMaterial } from '../keys/material.ts'
import { useSession } from '../session/context.tsx'
import { Fact, Facts } from './facts.tsx'
import { StateBadge, stateOf } from './state-badge.tsx'
import { RelativeTime } from './times.tsx'
import { UserText } from './user-text.tsx'

/** How many of a project's newest events are searched for the last one of a key. */
const searchedEvents = 200

/** What tells a key from others, for the confirmation of an action. */
export function KeyIdentity({ jwtKey }: { jwtKey: JwtKey }) {
  const { id, label, algorithm, createTime } = jwtKey
  const material = describeMaterial(jwtKey)
  return (
    <Facts name="The key">
      <Fact name="Label">
        <UserText>{label}</UserText>
      </Fact>
      <Fact name="State">
        <StateBadge state={stateOf(jwtKey, 'inactive')} />
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
  const { client } = useSession()
  const { data: event } = useQuery({
    queryKey: ['events', projectId, 'last', id],
    queryFn: async ({ signal }) => {
      const { revision } = await client.projects.get(projectId, { signal })
      const after = Math.max(0, revision - searchedEvents)
      const page = { project: projectId, after, limit: searchedEvents, signal }
      const events = await client.events.list(page)
      return events.findLast(({ subject }) => subject.id === id) ?? null
    },
  })
  if (!event) {
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
