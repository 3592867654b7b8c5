import { Button, Stack, Text } from '@mantine/core'
import type { JwtKeyWithDetails, Rotation } from '@pubring/client'
import { Link } from 'wouter'
import { endOf } from '../../components/ids.ts'
import { Section } from '../../components/section.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { exactTime } from '../../components/times.tsx'
import { UserText } from '../../components/user-text.tsx'
import { ActorName } from '../../events/actor.tsx'
import { useKey } from '../../keys/queries.ts'
import { isUnderWay, nextStep, useRotations } from '../../keys/rotations.ts'
import { useRights } from '../../session/rights.ts'

/** The rotations in which the key is replaced or replaces another; those under way first. */
export function KeyRotations({ jwtKey: { id, projectId } }: { jwtKey: JwtKeyWithDetails }) {
  const { data = [] } = useRotations(projectId)
  const rotations = data.filter(({ from, to }) => from === id || to === id)
  if (rotations.length === 0) return null
  return (
    <Section title="Rotation">
      <Stack>
        {rotations.map((rotation) => (
          <KeyRotation key={rotation.id} rotation={rotation} kid={id} />
        ))}
      </Stack>
    </Section>
  )
}

function KeyRotation({ rotation, kid }: { rotation: Rotation; kid: string }) {
  const { projectId, from, to, state, startedBy, createTime, endTime } = rotation
  const { mayWrite } = useRights(projectId)
  const underWay = isUnderWay(rotation)
  return (
    <div>
      <Text size="sm">
        {from === kid ? 'Replaced by ' : 'Replaces '}
        <KeyLink projectId={projectId} kid={from === kid ? to : from} />
        {underWay && `: ${nextStep(rotation)}`}
      </Text>
      <Text size="xs" c="dimmed" mt={2}>
        Started by <ActorName actor={startedBy} /> on {exactTime(createTime)}
        {endTime !== undefined && `, ${state} on ${exactTime(endTime)}`}
      </Text>
      {underWay && (
        <Button
          component={Link}
          href={`/projects/${projectId}/rotate/${from}`}
          variant="default"
          size="xs"
          mt="xs"
        >
          {mayWrite ? 'Continue' : 'Show'}
        </Button>
      )}
    </div>
  )
}

function KeyLink({ projectId, kid }: { projectId: string; kid: string }) {
  const { data } = useKey(projectId, kid)
  return (
    <TextLink href={`/projects/${projectId}/keys/${kid}`}>
      {data === undefined ? endOf(kid) : <UserText>{data.label}</UserText>}
    </TextLink>
  )
}
