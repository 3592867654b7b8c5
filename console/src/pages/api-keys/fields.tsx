import { Stack } from '@mantine/core'
import type { ApiKey } from '@pubring/client'
import { localTime } from '../../components/times.tsx'
import { LabelField } from '../../forms/label-field.tsx'
import { RoleField, toRole } from '../../forms/role-field.tsx'
import { ExpiryField, toExpiryInput } from '../../forms/time-field.tsx'

/** The fields of an API key as typed. */
export type ApiKeyInput = { name: string; role: string; expiry: string }

/** The input of a new API key, which must not outlive the one that creates it. */
export function newInput(own: ApiKey | undefined): ApiKeyInput {
  return { name: '', role: 'reader', expiry: toExpiryInput(own?.expireTime) }
}

export function toInput({ name, role, expireTime }: ApiKey): ApiKeyInput {
  return { name, role, expiry: toExpiryInput(expireTime) }
}

type FieldsProps = {
  input: ApiKeyInput
  onChange(part: Partial<ApiKeyInput>): void
  /** The API key that the user is signed in with, if it is one. */
  own: ApiKey | undefined
  /** Whether it is the one to change. */
  isOwn?: boolean
}

/** The fields for name, role and expiry. */
export function ApiKeyFields({ input, onChange, own, isOwn = false }: FieldsProps) {
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
      <RoleField
        role={toRole(input.role)}
        onRole={(role) => onChange({ role })}
        fixed={
          isOwn ? 'You cannot change the role of the API key you are signed in with.' : undefined
        }
      />
      <ExpiryField
        value={input.expiry}
        description={expiryDescription(own, isOwn)}
        onValue={(expiry) => onChange({ expiry })}
        disabled={isOwn && own?.expireTime !== undefined}
      />
    </Stack>
  )
}

function expiryDescription(own: ApiKey | undefined, isOwn: boolean): string {
  const { expireTime } = own ?? {}
  if (expireTime === undefined) return 'Leave empty for no expiry.'
  if (isOwn) return 'You cannot change the expiry of the API key you are signed in with.'
  return `Your own API key expires at ${localTime(expireTime)}: one that you create or extend must expire by then.`
}
