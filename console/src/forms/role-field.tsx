import type { Role } from '@pubring/client'
import { roles } from '../session/rights.ts'
import { ChoiceField } from './choice-field.tsx'

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
