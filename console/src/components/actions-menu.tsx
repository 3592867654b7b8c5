import { Button, Group, Menu } from '@mantine/core'
import { IconDots } from '@tabler/icons-react'
import type { ReactNode } from 'react'

/**
 * The actions of a table row; `name` names the row's subject. The frequent one is a button beside the
 * menu, which is left out if it would be empty.
 */
export function ActionsMenu(props: {
  name: string
  frequent?: { label: string; onClick(): void }
  children?: ReactNode
}) {
  const { name, frequent, children } = props
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      {frequent && (
        <Button
          variant="default"
          size="compact-xs"
          aria-label={`${frequent.label} ${name}`}
          onClick={frequent.onClick}
        >
          {frequent.label}
        </Button>
      )}
      {children && (
        <Menu position="bottom-end">
          <Menu.Target>
            <Button
              variant="subtle"
              color="gray"
              px={6}
              size="xs"
              aria-label={`Actions for ${name}`}
            >
              <IconDots size={18} />
            </Button>
          </Menu.Target>
          <Menu.Dropdown>{children}</Menu.Dropdown>
        </Menu>
      )}
    </Group>
  )
}
