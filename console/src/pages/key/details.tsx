import { Anchor, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { JwtKeyWithDetails } from '../../../../client/src/index.ts'
import { Section } from '../../components/section.tsx'
import { exactTime } from '../../components/times.tsx'
import { ActorName } from '../../events/actor.tsx'
import { useKeyRegistration } from '../../keys/events.ts'
import { describeMaterial } from '../../keys/material.ts'

/** Who registered the key, and its times to the second. */
export function Details({ jwtKey }: { jwtKey: JwtKeyWithDetails }) {
  const { id, projectId, algorithm, updateTime, details } = jwtKey
  const registration = useKeyRegistration(projectId, id)
  return (
    <Section title="Details">
      <Stack gap="sm">
        <Detail name="Registered by">
          {registration === undefined ? '…' : <ActorName actor={registration.actor} />}
        </Detail>
        <Detail name="Last changed">{exactTime(updateTime)}</Detail>
        <Detail name="Its state is known to verifiers that honor the cache headers from">
          {exactTime(details.convergedTime)}
        </Detail>
        <Detail name="Algorithm">
          {algorithm} {describeMaterial(jwtKey)}
        </Detail>
        <Detail name="alg of its tokens">{details.jwsAlgorithm}</Detail>
        {details.introducedBy !== undefined && (
          <Detail name="Introduced by the key">
            <Anchor
              component={Link}
              href={`/projects/${projectId}/keys/${details.introducedBy}`}
              className="mono"
              underline="always"
            >
              {details.introducedBy}
            </Anchor>
          </Detail>
        )}
      </Stack>
    </Section>
  )
}

function Detail({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <Text size="xs" c="dimmed" fw={600}>
        {name}
      </Text>
      <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
    </div>
  )
}
