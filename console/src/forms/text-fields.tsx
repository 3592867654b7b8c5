import {
  Autocomplete,
  type AutocompleteProps,
  Button,
  PasswordInput,
  type PasswordInputProps,
  Text,
  Textarea,
  type TextareaProps,
  TextInput,
  type TextInputProps,
} from '@mantine/core'
import { type ReactNode, type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import { adviseOn, isPrivateKeyText, isSecretText } from '../keys/secret-text.ts'

/*
 * The text fields of the console; no page uses others. A secret stays in its field: the page gets ''
 * in its place, so that it can neither send nor store it, and the form around the field cannot be
 * submitted.
 */

export type Guarded = { value: string; onValue(text: string): void }
export type FieldProps<Props> = Omit<Props, 'value' | 'onChange' | 'ref'> & Guarded

export function fieldOf<Name extends string>(
  input: Record<Name, string>,
  change: (part: Record<Name, string>) => void,
  name: Name,
): Guarded {
  return { value: input[name], onValue: (text) => change({ [name]: text } as Record<Name, string>) }
}

export function TextField({ value, onValue, error, ...props }: FieldProps<TextInputProps>) {
  const { input, change } = useGuard<HTMLInputElement>({ value, onValue, error }, isSecretText)
  return <TextInput {...props} {...input} onChange={(event) => change(event.currentTarget.value)} />
}

export function TextArea({ value, onValue, error, ...props }: FieldProps<TextareaProps>) {
  const { input, change } = useGuard<HTMLTextAreaElement>({ value, onValue, error }, isSecretText)
  return (
    <Textarea
      {...props}
      {...input}
      onChange={(event) => change(event.currentTarget.value)}
      spellCheck={false}
      autoComplete="off"
    />
  )
}

/** A field for an API key, the one secret that it accepts. Takes the focus. */
export function ApiKeyField({ value, onValue, error, ...props }: FieldProps<PasswordInputProps>) {
  const { input, change } = useGuard<HTMLInputElement>({ value, onValue, error }, isPrivateKeyText)
  useEffect(() => input.ref.current?.focus(), [input.ref])
  return (
    <PasswordInput {...props} {...input} onChange={(event) => change(event.currentTarget.value)} />
  )
}

/** Keeps a secret in the field, with advice on what to do with it, and blocks the form. */
function useGuard<Input extends HTMLInputElement | HTMLTextAreaElement>(
  { value, onValue, error }: Guarded & { error?: ReactNode },
  isForbidden: (text: string) => boolean,
) {
  const ref = useRef<Input>(null)
  const [kept, setKept] = useState('')
  // The page can set the field too, for example from a dropped file.
  const forbidden = useMemo(() => isForbidden(value), [isForbidden, value])
  const secret = forbidden ? value : value === '' ? kept : ''
  useEffect(() => {
    if (secret !== '' && value !== '') {
      setKept(secret)
      onValue('')
    }
  }, [secret, value, onValue])
  useValidity(ref, secret === '' ? error : 'Clear the secret first. It was not sent.')
  function change(text: string) {
    const isSecret = isForbidden(text)
    setKept(isSecret ? text : '')
    onValue(isSecret ? '' : text)
  }
  const advice = secret !== '' && <Advice secret={secret} onClear={() => change('')} />
  const text = secret === '' ? value : secret
  return { input: { ref, value: text, error: advice || error }, change }
}

/** Keeps the browser from submitting the form around the field while there is an error. */
function useValidity(
  ref: RefObject<HTMLInputElement | HTMLTextAreaElement | null>,
  error: ReactNode,
) {
  const message = typeof error === 'string' ? error : ''
  useEffect(() => ref.current?.setCustomValidity(message), [ref, message])
}

function Advice({ secret, onClear }: { secret: string; onClear(): void }) {
  const { title, action, command } = adviseOn(secret)
  return (
    <span role="alert">
      <Text span inherit fw={600}>
        {title}
      </Text>{' '}
      {action}
      {command !== undefined && (
        <>
          {' '}
          Pubring needs only the public key. To print it:{' '}
          <Text span inherit className="mono" data-command>
            {command}
          </Text>
        </>
      )}
      <br />
      <Button size="compact-xs" color="red.8" mt={6} onClick={onClear}>
        Clear the field
      </Button>
    </span>
  )
}

export function SuggestField({ value, onValue, error, ...props }: FieldProps<AutocompleteProps>) {
  const { input, change } = useGuard<HTMLInputElement>({ value, onValue, error }, isSecretText)
  return <Autocomplete {...props} {...input} onChange={change} />
}
