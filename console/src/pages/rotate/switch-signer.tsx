import { Button, Group, NumberInput, Stack, Text } from '@mantine/core'
import type { JwtKeyWithDetails } from '../../../../client/src/index.ts'
import { UserText } from '../../components/user-text.tsx'
import { clearDraft, useDraft } from '../../forms/drafts.ts'
import { TokenHeader } from '../project/new-key.tsx'

/** The step that happens outside Pubring: signing with the new key. */
export function SwitchSigner(props: {
  jwtKey: JwtKeyWithDetails
  onSwitched(tokenLifetimeMinutes: number): void
}) {
  const { jwtKey, onSwitched } = props
  const draft = `lifetime.${jwtKey.id}`
  const [{ lifetime }, change] = useDraft(draft, { lifetime: '' })
  return (
    <Stack>
      <Text>
        Verifiers now know “<UserText>{jwtKey.label}</UserText>”. Sign with its private key, and set
        this header in your tokens:
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
        onChange={(value) => change({ lifetime: String(value) })}
        min={0}
        max={525_600}
        maw={340}
      />
      <Group justify="flex-end">
        <Text id="lifetime-missing" size="sm" c="dimmed" role="status">
          {lifetime === '' && 'Still needed: the maximum token lifetime.'}
        </Text>
        <Button
          disabled={lifetime === ''}
          onClick={() => {
            clearDraft(draft)
            onSwitched(Number(lifetime))
          }}
          aria-describedby="lifetime-missing"
        >
          The signer uses the new key
        </Button>
      </Group>
    </Stack>
  )
}
