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
        {first?.type === 'key.created' && (
          <Fact name="Registered by">
            <ActorName actor={first.actor} />
          </Fact>
        )}
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
  const keys = `/projects/${projectId}/keys`
  const [name, href] = linkId
    ? ['Came through the registration link', keys]
    : ['Introduced by the key', `${keys}/${id}`]
  return (
    <Fact name={name}>
      <TextLink href={href}>
        <UserText mono={!linkId}>{link?.note ?? linkId ?? id}</UserText>
      </TextLink>
    </Fact>
  )
}
