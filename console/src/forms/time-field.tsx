import { Button, Group, TextInput } from '@mantine/core'
import { counted } from '../components/text.tsx'
import type { Guarded } from './text-fields.tsx'

/** A field for a local date and time, such as 2026-11-28T14:03; '' for none. */
type TimeFieldProps = Guarded & {
  label: string
  description?: string
  autoFocus?: boolean
  disabled?: boolean
}

export const TimeField = ({ onValue, autoFocus = false, ...input }: TimeFieldProps) => (
  <TextInput
    {...input}
    type="datetime-local"
    onChange={(event) => onValue(event.currentTarget.value)}
    {...(autoFocus && { 'data-autofocus': true })}
  />
)

export function TimePresets(props: {
  name: string
  presets: { label: string; choose(): void }[]
  disabled?: boolean
}) {
  const { name, presets, disabled = false } = props
  return (
    <Group gap={6} mt={6} role="group" aria-label={name}>
      {presets.map(({ label, choose }) => (
        <Button
          key={label}
          variant="default"
          size="compact-xs"
          disabled={disabled}
          onClick={choose}
        >
          {label}
        </Button>
      ))}
    </Group>
  )
}

export function ExpiryField(
  props: Omit<TimeFieldProps, 'label'> & { presetDays?: readonly number[] },
) {
  const { presetDays = [30, 90, 365], ...field } = props
  const { onValue, disabled = false } = field
  const presets = presetDays.map((days) => ({
    label: counted(days, 'day'),
    choose: () => onValue(toExpiryInput(new Date(Date.now() + days * 86_400_000).toISOString())),
  }))
  return (
    <div>
      <TimeField {...field} label="Expires at (your local time)" />
      <TimePresets name="Expires in" presets={presets} disabled={disabled} />
    </div>
  )
}

/** The value of an `ExpiryField` for an ISO 8601 time. */
export function toExpiryInput(time: string | undefined): string {
  if (time === undefined) return ''
  const date = new Date(time)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** The ISO 8601 time of an `ExpiryField`; undefined for none. */
export const fromExpiryInput = (value: string): string | undefined =>
  value === '' ? undefined : new Date(value).toISOString()
