import { SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import type { ApiKey, Role } from '../../../../client/src/index.ts'
import { ExpiryField, toExpiryInput } from '../../components/expiry-field.tsx'

/** The fields of an API key as typed. */
export type ApiKeyInput = { name: string; role: Role; expiry: string }

export const emptyInput: ApiKeyInput = { name: '', role: 'reader', expiry: '' }

export function toInput({ name, role, expireTime }: ApiKey): ApiKeyInput {
  return { name, role, expiry: toExpiryInput(expireTime) }
}

const roles: { value: Role; label: string; description: string }[] = [
  { value: 'reader', label: 'Reader', description: 'Reads, and checks keys and tokens.' },
  {
    value: 'writer',
    label: 'Writer',
    description: 'Also registers, changes and deletes JWT keys.',
  },
  { value: 'admin', label: 'Admin', description: 'Also manages projects and API keys.' },
]

type FieldsProps = {
  input: ApiKeyInput
  onInput(input: ApiKeyInput): void
  roleFixed?: boolean
}

/** The fields for name, role and expiry. */
export function ApiKeyFields({ input, onInput, roleFixed = false }: FieldsProps) {
  const change = (part: Partial<ApiKeyInput>) => onInput({ ...input, ...part })
  return (
    <Stack>
      <TextInput
        label="Name"
        description="Who or what uses the API key."
        placeholder="deploy pipeline"
        value={input.name}
        onChange={(event) => change({ name: event.currentTarget.value })}
        required
        withAsterisk={false}
        data-autofocus
      />
      <RoleField role={input.role} onRole={(role) => change({ role })} fixed={roleFixed} />
      <ExpiryField
        value={input.expiry}
        description="Leave empty for no expiry."
        onValue={(expiry) => change({ expiry })}
      />
    </Stack>
  )
}

function RoleField(props: { role: Role; onRole(role: Role): void; fixed: boolean }) {
  const { role, onRole, fixed } = props
  return (
    <div>
      <Text size="sm" fw={500} mb={4} id="role-label">
        Role
      </Text>
      <SegmentedControl
        aria-labelledby="role-label"
        data={roles.map(({ value, label }) => ({ value, label }))}
        value={role}
        onChange={(selected) => {
          const known = roles.find(({ value }) => value === selected)
          if (known !== undefined) onRole(known.value)
        }}
        disabled={fixed}
        fullWidth
      />
      <Text size="xs" c="dimmed" mt={4}>
        {fixed
          ? 'You cannot change the role of the API key you are signed in with.'
          : roles.find(({ value }) => value === role)?.description}
      </Text>
    </div>
  )
}
