import { Button, Group, NumberInput, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { JwtKeyWithDetails } from '../../../../client/src/index.ts'
import { CopyBlock } from '../../components/copy.tsx'

/** The step that only the user can take: sign with the new key. `onSwitched` is told minutes. */
export function SwitchSigner(props: {
  jwtKey: JwtKeyWithDetails
  onSwitched(tokenLife: number): void
}) {
  const { jwtKey, onSwitched } = props
  const [tokenLife, setTokenLife] = useState<number | string>(60)
  const header = { alg: jwtKey.details.jwsAlgorithm, kid: jwtKey.id, typ: 'JWT' }
  return (
    <Stack>
      <Text>
        Verifiers know “{jwtKey.label}” now. Let your backend sign with its private half, and put
        its kid into the header:
      </Text>
      <CopyBlock value={JSON.stringify(header, null, 2)} what="JWT header" />
      <Text size="sm" c="dimmed">
        Check one of the new tokens under “Check a token” before you go on.
      </Text>
      <NumberInput
        label="Longest life of your tokens, in minutes"
        description="exp minus iat. So long must the old key stay on."
        value={tokenLife}
        onChange={setTokenLife}
        min={0}
        max={525_600}
        maw={340}
      />
      <Group justify="flex-end">
        <Button
          disabled={typeof tokenLife !== 'number'}
          onClick={() => onSwitched(Number(tokenLife))}
        >
          The signer uses the new key
        </Button>
      </Group>
    </Stack>
  )
}
