import { SegmentedControl, Text } from '@mantine/core'
import type { Role } from '@pubring/client'
import { useId } from 'react'
import { roles } from '../session/rights.ts'

const descriptions: Record<Role, string> = {
  reader: 'Reads, and checks keys and tokens.',
  registrar: 'Also registers JWT keys.',
  writer: 'Also changes and deletes JWT keys.',
  admin: 'Also manages projects and who has access.',
  auditor: 'Reads everything of all projects, and changes nothing.',
}

/** The role in stored input; the weakest if it is none that the console knows. */
export function toRole(text: string): Role {
  return roles.find((role) => role === text) ?? 'reader'
}

/** A choice among roles, with what the chosen one may do. */
export function RoleField<Choice extends Role>(props: {
  role: Choice
  onRole(role: Choice): void
  choices?: readonly Choice[]
  /** Why it cannot be changed. */
  fixed?: string | undefined
}) {
  const { role, onRole, fixed } = props
  const choices = props.choices ?? (roles as readonly Choice[])
  const id = useId()
  return (
    <div>
      <Text size="sm" fw={500} mb={4} id={id}>
        Role
      </Text>
      <SegmentedControl
        aria-labelledby={id}
        data={choices.map((value) => ({
          value,
          label: value.replace(/^./, (first) => first.toUpperCase()),
        }))}
        value={role}
        onChange={(selected) => {
          const known = choices.find((value) => value === selected)
          if (known !== undefined) onRole(known)
        }}
        disabled={fixed !== undefined}
        fullWidth
      />
      <Text size="xs" c="dimmed" mt={4}>
        {fixed ?? descriptions[role]}
      </Text>
    </div>
  )
}
