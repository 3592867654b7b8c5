import { TextInput } from '@mantine/core'

/** A field for an expiry in local time; '' for none. */
export function ExpiryField(props: {
  value: string
  description: string
  onValue(value: string): void
  autoFocus?: boolean
  disabled?: boolean
}) {
  const { value, description, onValue, autoFocus = false, disabled = false } = props
  return (
    <TextInput
      type="datetime-local"
      label="Expires at (your local time)"
      description={description}
      value={value}
      onChange={(event) => onValue(event.currentTarget.value)}
      disabled={disabled}
      {...(autoFocus && { 'data-autofocus': true })}
    />
  )
}

/** The value of an `ExpiryField` for an ISO 8601 time. */
export function toExpiryInput(time: string | undefined): string {
  if (time === undefined) return ''
  const date = new Date(time)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** The ISO 8601 time of an `ExpiryField`; undefined for none. */
export function fromExpiryInput(value: string): string | undefined {
  return value === '' ? undefined : new Date(value).toISOString()
}
