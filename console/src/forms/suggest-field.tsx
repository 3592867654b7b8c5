import { Autocomplete, type AutocompleteProps } from '@mantine/core'
import { isSecretText } from '../keys/secret-text.ts'
import { type FieldProps, useGuard } from './text-fields.tsx'

/** A field with suggestions. */
export function SuggestField({ value, onValue, error, ...props }: FieldProps<AutocompleteProps>) {
  const { input, change } = useGuard<HTMLInputElement>({ value, onValue, error }, isSecretText)
  return <Autocomplete {...props} {...input} onChange={change} />
}
