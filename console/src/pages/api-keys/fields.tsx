import { SegmentedControl, Stack, Text } from '@mantine/core'
import type { ApiKey, Role } from '../../../../client/src/index.ts'
import { localTime } from '../../components/times.tsx'
import { LabelField } from '../../forms/label-field.tsx'
import { ExpiryField, toExpiryInput } from '../../forms/time-field.tsx'
import { useSession } from '../../session/context.tsx'

/** The fields of an API key as typed. */
export type ApiKeyInput = { name: string; role: string; expiry: string }

/** The chosen role; the weakest if it is none that the console knows. */
export function roleOf({ role }: ApiKeyInput): Role {
  return roles.find(({ value }) => value === role)?.value ?? 'reader'
}

/** The input of a new API key, which must not outlive the one that creates it. */
export function newInput(self: ApiKey): ApiKeyInput {
  return { name: '', role: 'reader', expiry: toExpiryInput(self.expireTime) }
}

export function toInput({ name, role, expireTime }: ApiKey): ApiKeyInput {
  return { name, role, expiry: toExpiryInput(expireTime) }
}

const roles: { value: Role; label: string; description: string }[] = [
  { value: 'reader', label: 'Reader', description: 'Reads, and checks keys and tokens.' },
  { value: 'registrar', label: 'Registrar', description: 'Also registers JWT keys.' },
  { value: 'writer', label: 'Writer', description: 'Also changes and deletes JWT keys.' },
  { value: 'admin', label: 'Admin', description: 'Also manages projects and API keys.' },
]

type FieldsProps = {
  input: ApiKeyInput
  onChange(part: Partial<ApiKeyInput>): void
  /** Whether it is the API key that the user is signed in with. */
  own?: boolean
}

/** The fields for name, role and expiry. */
export function ApiKeyFields({ input, onChange, own = false }: FieldsProps) {
  const { self } = useSession()
  return (
    <Stack>
      <LabelField
        label="Name"
        description="Who or what uses the API key."
        placeholder="deploy pipeline"
        value={input.name}
        onValue={(name) => onChange({ name })}
        autoFocus
      />
      <RoleField role={roleOf(input)} onRole={(role) => onChange({ role })} fixed={own} />
      <ExpiryField
        value={input.expiry}
        description={expiryDescription(self, own)}
        onValue={(expiry) => onChange({ expiry })}
        disabled={own && self.expireTime !== undefined}
      />
    </Stack>
  )
}

function expiryDescription({ expireTime }: ApiKey, own: boolean): string {
  if (expireTime === undefined) return 'Leave empty for no expiry.'
  if (own) return 'You cannot change the expiry of the API key you are signed in with.'
  return `Your own API key expires at ${localTime(expireTime)}: one that you create or extend must expire by then.`
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
