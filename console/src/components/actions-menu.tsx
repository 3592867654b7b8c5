import { Button, Menu } from '@mantine/core'
import { IconDots } from '@tabler/icons-react'
import type { ReactNode } from 'react'

/** The actions of a table row; `name` names the row's subject. */
export function ActionsMenu({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="subtle" color="gray" px={6} size="xs" aria-label={`Actions for ${name}`}>
          <IconDots size={18} />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  )
}
