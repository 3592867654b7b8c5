import { Group, Text } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay, IconTrash, IconX } from '@tabler/icons-react'
import { IconButton } from '../../../components/buttons.tsx'
import { type KeyRow, mayBeActivated } from '../../../keys/queries.ts'

const buttons = [
  { action: 'deactivate', label: 'Deactivate', Icon: IconPlayerPause },
  { action: 'activate', label: 'Activate', Icon: IconPlayerPlay },
  { action: 'delete', label: 'Delete', Icon: IconTrash },
] as const
export type BulkAction = (typeof buttons)[number]['action']

/** An active key is deactivated before it is deleted. */
const applicable: Record<BulkAction, (key: KeyRow) => boolean> = {
  deactivate: ({ active }) => active,
  activate: mayBeActivated,
  delete: ({ active }) => !active,
}

export const applicableTo = (keys: KeyRow[], action: BulkAction) => keys.filter(applicable[action])

type SelectionBarProps = { keys: KeyRow[]; onAction(action: BulkAction): void; onClear(): void }

export const SelectionBar = ({ keys, onAction, onClear }: SelectionBarProps) => (
  <Group gap="sm" px="md" py={8} className="selection-bar" role="region" aria-label="Selection">
    <Text fw={600} role="status" mr="auto">
      {keys.length.toLocaleString()} selected
    </Text>
    {buttons.map(({ action, label, Icon }) => {
      const { length } = applicableTo(keys, action)
      return (
        length > 0 && (
          <IconButton
            key={action}
            variant="default"
            size="compact-sm"
            Icon={Icon}
            label={`${label} ${length.toLocaleString()}`}
            onClick={() => onAction(action)}
          />
        )
      )
    })}
    <IconButton
      variant="subtle"
      color="gray"
      size="compact-sm"
      Icon={IconX}
      label="Clear selection"
      onClick={onClear}
    />
  </Group>
)
