import { Group, Stack, Text } from '@mantine/core'
import { IconShieldCheck } from '@tabler/icons-react'
import { CopyBlock } from '../../components/copy.tsx'
import type { Snippet, Verifier } from './snippets/types.ts'

/** The setup of one verifier, and how long it trusts a deactivated key. */
export function Setup({ snippet, verifier }: { snippet: Snippet; verifier: Verifier }) {
  return (
    <Stack gap="md">
      <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {snippet.file}
      </Text>
      <CopyBlock value={snippet.text(verifier)} name={`setup for ${snippet.title}`} />
      <Group gap="sm" wrap="nowrap" align="flex-start">
        <IconShieldCheck size={22} style={{ flex: 'none' }} aria-hidden />
        <div>
          <Text size="sm" fw={600}>
            Trusts a deactivated key: {snippet.trust}
          </Text>
          <Text size="sm" c="dimmed">
            {snippet.note}
          </Text>
        </div>
      </Group>
    </Stack>
  )
}
