import { Stack } from '@mantine/core'
import type { JwtKeyWithDetails } from '@pubring/client'
import { Fact, Section } from '../../components/facts.tsx'
import { exactTime, TextLink, UserText } from '../../components/text.tsx'
import { ActorName } from '../../events/actor.tsx'
import { describeMaterial } from '../../keys/material.ts'
import { useKeyEvent } from '../../keys/queries.ts'
import { useApi } from '../../session/session.tsx'

export function Details({ jwtKey }: { jwtKey: JwtKeyWithDetails }) {
  const { id, projectId, algorithm, updateTime, details } = jwtKey
  const { data: first } = useKeyEvent(projectId, id, 'first')
  return (
    <Section title="Details">
      <Stack gap="sm">
        <Fact name="Registered by">
          {first?.type === 'key.created' ? <ActorName actor={first.actor} /> : '…'}
        </Fact>
        <Fact name="Last changed">{exactTime(updateTime)}</Fact>
        {details.ended && (
          <Fact name="Ended">
            {details.ended.time ? `${exactTime(details.ended.time)}, ` : ''}
            {details.ended.reason}
          </Fact>
        )}
        <Fact name="Algorithm">
          {algorithm} {describeMaterial(jwtKey)}
        </Fact>
        <Fact name="alg of its tokens">{details.jwsAlgorithm}</Fact>
        {details.introducedBy && <Introducer projectId={projectId} id={details.introducedBy} />}
      </Stack>
    </Section>
  )
}

/** The key that vouched for the key, or the note of the registration link that it came through. */
function Introducer({ projectId, id }: { projectId: string; id: string }) {
  const [, linkId] = /^link:(.*)$/.exec(id) ?? []
  const { data: link } = useApi(
    ['links', projectId, linkId],
    linkId && ((client, signal) => client.registrationLinks.get(projectId, linkId, { signal })),
  )
  if (linkId === undefined) {
    return (
      <Fact name="Introduced by the key">
        <TextLink href={`/projects/${projectId}/keys/${id}`} className="mono">
          {id}
        </TextLink>
      </Fact>
    )
  }
  return (
    <Fact name="Came through the registration link">
      <TextLink href={`/projects/${projectId}/keys`}>
        <UserText>{link?.note ?? linkId}</UserText>
      </TextLink>
    </Fact>
  )
}
