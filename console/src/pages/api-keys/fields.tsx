import { SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import type { ApiKey, Role } from '../../../../client/src/index.ts'

/** The fields of an API key as they are typed; `expires` in local time, '' for never. */
export type ApiKeyValues = { name: string; role: Role; expires: string }

export const newValues: ApiKeyValues = { name: '', role: 'reader', expires: '' }

export function valuesOf({ name, role, expireTime }: ApiKey): ApiKeyValues {
  return { name, role, expires: expireTime === undefined ? '' : localInput(expireTime) }
}

/** ISO 8601; undefined for never. */
export function expireTimeOf({ expires }: ApiKeyValues): string | undefined {
  return expires === '' ? undefined : new Date(expires).toISOString()
}

function localInput(time: string): string {
  const date = new Date(time)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

const roles: { value: Role; label: string; does: string }[] = [
  { value: 'reader', label: 'Reader', does: 'Reads, and checks keys and tokens.' },
  { value: 'writer', label: 'Writer', does: 'Also registers, changes and deletes JWT keys.' },
  { value: 'admin', label: 'Admin', does: 'Also manages projects and API keys.' },
]

/** Name, role and expiry. */
export function ApiKeyFields(props: {
  values: ApiKeyValues
  onValues(values: ApiKeyValues): void
  roleFixed?: boolean
}) {
  const { values, onValues, roleFixed = false } = props
  const change = (part: Partial<ApiKeyValues>) => onValues({ ...values, ...part })
  return (
    <Stack>
      <TextInput
        label="Name"
        description="Who or what uses it."
        placeholder="deploy pipeline"
        value={values.name}
        onChange={(event) => change({ name: event.currentTarget.value })}
        required
        withAsterisk={false}
        data-autofocus
      />
      <div>
        <Text size="sm" fw={500} mb={4} id="role-label">
          Role
        </Text>
        <SegmentedControl
          aria-labelledby="role-label"
          data={roles.map(({ value, label }) => ({ value, label }))}
          value={values.role}
          onChange={(value) => {
            const role = roles.find((known) => known.value === value)
            if (role !== undefined) change({ role: role.value })
          }}
          disabled={roleFixed}
          fullWidth
        />
        <Text size="xs" c="dimmed" mt={4}>
          {roleFixed
            ? 'You are using it: change its role with another one.'
            : roles.find(({ value }) => value === values.role)?.does}
        </Text>
      </div>
      <TextInput
        type="datetime-local"
        label="Expires at (your local time)"
        description="Leave it empty for no expiry."
        value={values.expires}
        onChange={(event) => change({ expires: event.currentTarget.value })}
      />
    </Stack>
  )
}
