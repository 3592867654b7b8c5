import { Alert, Anchor } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { Link } from 'wouter'
import type { JwtKey } from '../../../../client/src/index.ts'
import { readRotation } from '../../session/rotations.ts'

/** The rotations that this tab has begun and not finished. */
export function RotationsUnderWay({ keys }: { keys: JwtKey[] }) {
  const begun = keys.filter(({ id }) => readRotation(id).newKid !== undefined)
  return begun.map(({ id, projectId, label }) => (
    <Alert key={id} color="petrol" icon={<IconRefresh />} mb="sm">
      The rotation of “{label}” is under way.{' '}
      <Anchor component={Link} href={`/projects/${projectId}/rotate/${id}`} underline="always">
        Go on with it
      </Anchor>
    </Alert>
  ))
}
