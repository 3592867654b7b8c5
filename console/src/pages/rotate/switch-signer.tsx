import { Button, Group, NumberInput, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { JwtKeyWithDetails } from '../../../../client/src/index.ts'
import { TokenHeader } from '../project/new-key.tsx'

/** The step that happens outside Pubring: signing with the new key. */
export function SwitchSigner(props: {
  jwtKey: JwtKeyWithDetails
  onSwitched(tokenLifetimeMinutes: number): void
}) {
  const { jwtKey, onSwitched } = props
  const [lifetime, setLifetime] = useState<number | string>('')
  return (
    <Stack>
      <Text>
        Verifiers now know “{jwtKey.label}”. Sign with its private key, and set this header in your
        tokens:
      </Text>
      <TokenHeader
        alg={jwtKey.details.jwsAlgorithm}
        kid={jwtKey.details.publishedKid ?? jwtKey.id}
      />
      <Text size="sm" c="dimmed">
        Before you continue, check one of the new tokens under “Check a token”.
      </Text>
      <NumberInput
        label="Maximum token lifetime in minutes"
        description="exp minus iat. The old key must stay active for this long."
        value={lifetime}
        onChange={setLifetime}
        min={0}
        max={525_600}
        maw={340}
      />
      <Group justify="flex-end">
        <Button
          disabled={typeof lifetime !== 'number'}
          onClick={() => onSwitched(Number(lifetime))}
        >
          The signer uses the new key
        </Button>
      </Group>
    </Stack>
  )
}
