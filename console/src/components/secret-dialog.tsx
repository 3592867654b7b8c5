import { Button, Group, Stack, Text } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { CopyField } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { Notice } from './states.tsx'

/**
 * Shows a new secret, once, with advice about it. It closes only after the secret was copied, or the user
 * said so; the browser asks before it leaves the page.
 */
export function SecretDialog(props: {
  title: string
  name: string
  secret: string
  children: ReactNode
  onClose(): void
}) {
  const { title, name, secret, children, onClose } = props
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
      title={title}
      closeOnClickOutside={false}
      size="lg"
    >
      <Stack>
        <Notice tone="warning" title="Copy it now">
          {children}
        </Notice>
        <CopyField label={name} value={secret} onCopied={() => setCopied(true)} />
        {asked && !copied && (
          <Text size="md" className="warning" fw={600} role="alert">
            Not copied yet. Copy it, or confirm that you have it: it is not shown again.
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
