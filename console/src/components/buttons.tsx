import { ActionIcon, type ActionIconProps, Button, type ButtonProps } from '@mantine/core'
import type { Icon as TablerIcon } from '@tabler/icons-react'
import type { ComponentProps } from 'react'

type Labeled = { Icon: TablerIcon; label: string; onClick?: () => void }

export function IconButton({ Icon, label, ...props }: ButtonProps & Labeled) {
  const size = props.size === undefined ? 16 : 14
  return (
    <Button leftSection={<Icon size={size} aria-hidden />} {...props}>
      {label}
    </Button>
  )
}

/** A button that is only an icon; its label is read out. */
export function ToolButton(
  props: ActionIconProps & Labeled & Pick<ComponentProps<'button'>, 'ref'>,
) {
  const { Icon, label, ...rest } = props
  return (
    <ActionIcon variant="default" size="lg" aria-label={label} {...rest}>
      <Icon size={18} />
    </ActionIcon>
  )
}
