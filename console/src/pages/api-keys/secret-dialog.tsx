import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { CopyField } from '../../components/copy.tsx'
import { Dialog } from '../../components/dialog.tsx'

/**
 * Shows the secret of a new API key, once. It closes only after the secret was copied, or the user
 * said so; the browser asks before it leaves the page.
 */
export function SecretDialog({ secret, onClose }: { secret: string; onClose(): void }) {
  const [copied, setCopied] = useState(false)
  const [asked, setAsked] = useState(false)
  useEffect(() => {
    if (copied) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [copied])
  return (
    <Dialog
      onClose={() => (copied ? onClose() : setAsked(true))}
      title="API key created"
      closeOnClickOutside={false}
      size="lg"
    >
      <Stack>
        <Alert color="yellow" icon={<IconAlertTriangle />} title="Copy it now">
          The API key is shown only once: Pubring stores only its hash. Keep it in a secret store,
          not in code, chats or tickets. The command line reads it from PUBRING_API_KEY.
        </Alert>
        <CopyField label="API key" value={secret} onCopied={() => setCopied(true)} />
        {asked && !copied && (
          <Text className="warning" fw={600} role="alert">
            Not copied yet. Copy the API key, or confirm that you have it: it is not shown again.
          </Text>
        )}
        <Group justify="flex-end">
          <Button onClick={onClose} variant={copied ? 'filled' : 'default'}>
            {copied ? 'Close' : 'I have copied it'}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
