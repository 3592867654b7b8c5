import { Button, Group, Text } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay, IconTrash, IconX } from '@tabler/icons-react'
import { type KeyRow, mayBeActivated } from '../../../keys/states.ts'

const bulkActions = ['deactivate', 'activate', 'delete'] as const
export type BulkAction = (typeof bulkActions)[number]

/** An active key is deactivated before it is deleted. */
const applicable: Record<BulkAction, (key: KeyRow) => boolean> = {
  deactivate: ({ active }) => active,
  activate: mayBeActivated,
  delete: ({ active }) => !active,
}

export const applicableTo = (keys: KeyRow[], action: BulkAction) => keys.filter(applicable[action])

const buttons = [
  { action: 'deactivate', label: 'Deactivate', Icon: IconPlayerPause },
  { action: 'activate', label: 'Activate', Icon: IconPlayerPlay },
  { action: 'delete', label: 'Delete', Icon: IconTrash },
] as const

/** How many keys are selected, and what can be done with them. */
export function SelectionBar(props: {
  keys: KeyRow[]
  onAction(action: BulkAction): void
  onClear(): void
}) {
  const { keys, onAction, onClear } = props
  return (
    <Group gap="sm" px="md" py={8} className="selection-bar" role="region" aria-label="Selection">
      <Text size="sm" fw={600} role="status" mr="auto">
        {keys.length.toLocaleString()} selected
      </Text>
      {buttons.map(({ action, label, Icon }) => {
        const { length } = applicableTo(keys, action)
        return (
          length > 0 && (
            <Button
              key={action}
              variant="default"
              size="compact-sm"
              leftSection={<Icon size={14} aria-hidden />}
              onClick={() => onAction(action)}
            >
              {label} {length.toLocaleString()}
            </Button>
          )
        )
      })}
      <Button
        variant="subtle"
        color="gray"
        size="compact-sm"
        leftSection={<IconX size={14} aria-hidden />}
        onClick={onClear}
      >
        Clear selection
      </Button>
    </Group>
  )
}
