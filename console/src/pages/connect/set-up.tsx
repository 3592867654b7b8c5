import { Group, Stack, Text } from '@mantine/core'
import { IconShieldCheck } from '@tabler/icons-react'
import { CopyBlock } from '../../components/copy.tsx'
import type { Addresses, Snippet } from './snippets/types.ts'

/** One verifier's set-up, and for how long it trusts a key that was switched off. */
export function SetUp(props: { snippet: Snippet; addresses: Addresses; audience: string }) {
  const { snippet, addresses, audience } = props
  const text = snippet.text(addresses)
  return (
    <Stack gap="md">
      <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {snippet.file}
      </Text>
      <CopyBlock
        value={audience === '' ? text : text.replaceAll('AUDIENCE', () => audience)}
        what={`set-up for ${snippet.title}`}
      />
      <Group gap="sm" wrap="nowrap" align="flex-start">
        <IconShieldCheck size={22} style={{ flex: 'none' }} aria-hidden />
        <div>
          <Text size="sm" fw={600}>
            Trusts a switched-off key for: {snippet.trust}
          </Text>
          <Text size="sm" c="dimmed">
            {snippet.note}
          </Text>
        </div>
      </Group>
    </Stack>
  )
}
