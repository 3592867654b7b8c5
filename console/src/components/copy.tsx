import {
  ActionIcon,
  Code,
  Group,
  CopyButton as MantineCopyButton,
  Text,
  Tooltip,
} from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'

/** A button that copies `value`; `name` says what it is, such as “kid”. */
export function CopyButton({ value, name }: { value: string; name: string }) {
  return (
    <MantineCopyButton value={value} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : `Copy ${name}`}>
          <ActionIcon
            variant="subtle"
            color={copied ? 'teal' : 'gray'}
            onClick={copy}
            aria-label={copied ? `${name} copied` : `Copy ${name}`}
          >
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </MantineCopyButton>
  )
}

/** A labeled value with a copy button. */
export function CopyField({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <Text size="xs" c="dimmed" fw={600}>
        {label}
      </Text>
      <Group gap={4} wrap="nowrap">
        <span className="mono">{value}</span>
        <CopyButton value={value} name={label} />
      </Group>
    </div>
  )
}

/** A text block with a copy button. */
export function CopyBlock({ value, name }: { value: string; name: string }) {
  return (
    <Group align="flex-start" wrap="nowrap" gap="xs">
      <Code block flex={1} miw={0} tabIndex={0} aria-label={name}>
        {value}
      </Code>
      <CopyButton value={value} name={name} />
    </Group>
  )
}
