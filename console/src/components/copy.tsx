import { ActionIcon, Code, CopyButton, Group, Text, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'

/** Puts `value` on the clipboard. `what` names it: “kid”, “JWKS address”. */
export function Copy({ value, what }: { value: string; what: string }) {
  return (
    <CopyButton value={value} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : `Copy ${what}`}>
          <ActionIcon
            variant="subtle"
            color={copied ? 'teal' : 'gray'}
            onClick={copy}
            aria-label={copied ? `${what} copied` : `Copy ${what}`}
          >
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}

/** A value with its name, to read and to copy. */
export function CopyField({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <Text size="xs" c="dimmed" fw={600}>
        {label}
      </Text>
      <Group gap={4} wrap="nowrap">
        <span className="mono">{value}</span>
        <Copy value={value} what={label} />
      </Group>
    </div>
  )
}

/** A block of text to copy. */
export function CopyBlock({ value, what }: { value: string; what: string }) {
  return (
    <Group align="flex-start" wrap="nowrap" gap="xs">
      <Code block flex={1} miw={0} tabIndex={0} aria-label={what}>
        {value}
      </Code>
      <Copy value={value} what={what} />
    </Group>
  )
}
