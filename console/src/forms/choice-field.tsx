import { SegmentedControl, Text } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import type { Role } from '@pubring/client'
import { useId } from 'react'
import { capitalized } from '../components/capitalized.ts'
import { roles } from '../session/session.tsx'

export function ChoiceField<Choice extends string>(props: {
  label: string
  choices: readonly Choice[]
  choice: Choice
  onChoice(choice: Choice): void
  description: string
  disabled?: boolean
}) {
  const { label, choices, choice, onChoice, description, disabled = false } = props
  const id = useId()
  const isNarrow = useMediaQuery('(max-width: 30em)')
  return (
    <div>
      <Text fw={600} mb={4} id={id}>
        {label}
      </Text>
      <SegmentedControl
        aria-labelledby={id}
        data={choices.map((value) => ({ value, label: capitalized(value) }))}
        value={choice}
        onChange={onChoice}
        disabled={disabled}
        orientation={isNarrow && choices.length > 3 ? 'vertical' : 'horizontal'}
        fullWidth
      />
      <Text size="xs" c="dimmed" mt={4}>
        {description}
      </Text>
    </div>
  )
}

const descriptions: Record<Role, string> = {
  reader: 'Reads, and checks keys and tokens.',
  registrar: 'Also registers JWT keys.',
  writer: 'Also changes and deletes JWT keys.',
  admin: 'Also manages projects and who has access.',
  auditor: 'Reads everything of all projects, and changes nothing.',
}

/** The role in stored input; the weakest if it is none that the console knows. */
export const toRole = (text: string): Role => roles.find((role) => role === text) ?? 'reader'

export function RoleField<Choice extends Role>(props: {
  role: Choice
  onRole(role: Choice): void
  choices?: readonly Choice[]
  /** Why it cannot be changed. */
  fixed?: string | undefined
}) {
  const { role, onRole, fixed, choices = roles as readonly Choice[] } = props
  return (
    <ChoiceField
      label="Role"
      choices={choices}
      choice={role}
      onChoice={onRole}
      description={fixed ?? descriptions[role]}
      disabled={fixed !== undefined}
    />
  )
}
