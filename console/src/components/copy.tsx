import { ActionIcon, Code, Group, Popover, Text, Textarea, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'

const copiedMs = 1_500

type Copyable = { value: string; name: string; onCopied?: () => void }

/**
 * A button that copies `value`; `name` says what it is, such as “kid”. Where the browser does not
 * allow copying, as on plain http, it says so and selects the text.
 */
export function CopyButton({ value, name, onCopied }: Copyable) {
  const [state, setState] = useState<'idle' | 'copied' | 'impossible'>('idle')
  useEffect(() => {
    if (state !== 'copied') return
    const timer = setTimeout(() => setState('idle'), copiedMs)
    return () => clearTimeout(timer)
  }, [state])
  async function copy() {
    try {
      await navigator.clipboard.writeText(value)
      setState('copied')
      onCopied?.()
    } catch {
      // Without https there is no clipboard; elsewhere the user or a policy may forbid it.
      setState('impossible')
    }
  }
  const copied = state === 'copied'
  return (
    <Popover
      opened={state === 'impossible'}
      onChange={(opened) => !opened && setState('idle')}
      withinPortal
      trapFocus
      width={340}
    >
      <Popover.Target>
        <Tooltip label={copied ? 'Copied' : `Copy ${name}`}>
          <ActionIcon
            variant="subtle"
            size={24}
            color={copied ? 'teal' : 'gray'}
            onClick={copy}
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
      <Text size="sm" mb={6} role="alert">
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

/** A labeled value with a copy button. */
export function CopyField({ label, ...copyable }: { label: string } & Omit<Copyable, 'name'>) {
  return (
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
}

/** A text block with a copy button. */
export function CopyBlock({ value, name }: { value: string; name: string }) {
  return (
    <Group align="flex-start" wrap="nowrap" gap="xs">
      <Code block flex={1} miw={0} tabIndex={0} aria-label={name} role="group">
        {value}
      </Code>
      <CopyButton value={value} name={name} />
    </Group>
  )
}
