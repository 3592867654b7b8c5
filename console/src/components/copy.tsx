import { ActionIcon, Code, Group, Popover, Text, Textarea, Tooltip } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { useEffect, useRef } from 'react'

type Copyable = { value: string; name: string; onCopied?: () => void }

/**
 * A button that copies `value`; `name` says what it is, such as “kid”. Where the browser does not
 * allow copying, as on plain http, it says so and selects the text.
 */
export function CopyButton({ value, name, onCopied }: Copyable) {
  const { copy, copied, error, reset } = useClipboard({ timeout: 1_500 })
  useEffect(() => {
    if (copied) onCopied?.()
  }, [copied, onCopied])
  return (
    <Popover opened={error !== null} onChange={reset} withinPortal trapFocus width={340}>
      <Popover.Target>
        <Tooltip label={copied ? 'Copied' : `Copy ${name}`}>
          <ActionIcon
            variant="subtle"
            size={24}
            color={copied ? 'teal' : 'gray'}
            onClick={() => copy(value)}
            aria-label={copied ? `${name} copied` : `Copy ${name}`}
          >
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-label={`${name} to copy by hand`}>
        <CopyByHand value={value} name={name} {...(onCopied && { onCopied })} />
      </Popover.Dropdown>
    </Popover>
  )
}

function CopyByHand({ value, name, onCopied }: Copyable) {
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => field.current?.select(), [])
  return (
    <>
      <Text mb={6} role="alert">
        The browser does not allow this page to copy
        {isSecureContext ? '' : ', because it is not https'}. The text is selected: press Ctrl+C or
        ⌘C.
      </Text>
      <Textarea
        ref={field}
        aria-label={name}
        value={value}
        readOnly
        autosize
        maxRows={8}
        classNames={{ input: 'mono' }}
        onFocus={(event) => event.currentTarget.select()}
        onCopy={onCopied}
        data-autofocus
      />
    </>
  )
}

export const CopyField = ({ label, ...copyable }: { label: string } & Omit<Copyable, 'name'>) => (
  <div>
    <Text size="xs" c="dimmed" fw={600}>
      {label}
    </Text>
    <Group gap={4} wrap="nowrap">
      <span className="mono">{copyable.value}</span>
      <CopyButton {...copyable} name={label} />
    </Group>
  </div>
)

export const CopyBlock = ({ value, name }: { value: string; name: string }) => (
  <Group align="flex-start" wrap="nowrap" gap="xs">
    <Code block flex={1} miw={0} tabIndex={0} aria-label={name} role="group">
      {value}
    </Code>
    <CopyButton value={value} name={name} />
  </Group>
)
