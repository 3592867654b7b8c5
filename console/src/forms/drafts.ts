import { useEffect, useState } from 'react'
import { isSecretText } from '../keys/secret-text.ts'

const prefix = 'pubring.draft.'

/**
 * The input of a form, which survives a reload of the tab until the form is sent or cancelled. `name`
 * is unique in the console. Input with a secret stays in memory.
 */
export function useDraft<Input extends Record<string, string | boolean>>(
  name: string,
  initial: Input,
): [input: Input, change: (part: Partial<Input>) => void] {
  const [input, setInput] = useState<Input>(() => {
    const stored = Object.entries(read(name)).filter(
      ([member, value]) => typeof value === typeof initial[member],
    )
    return { ...initial, ...Object.fromEntries(stored) }
  })
  return [
    input,
    (part) => {
      const changed = { ...input, ...part }
      setInput(changed)
      write(name, changed)
    },
  ]
}

/** An open dialog: what it does, and to what. */
type OpenDialog<Action extends string> = { action: Action; id: string }

/**
 * The open dialog of a page. It is open again after a reload, but not when the user comes back from
 * another page.
 */
export function useOpenDialog<Action extends string>(
  page: string,
  actions: readonly Action[],
): [OpenDialog<Action> | undefined, (dialog: OpenDialog<Action> | undefined) => void] {
  const name = `open.${page}`
  const [dialog, setDialog] = useState<OpenDialog<Action> | undefined>(() => {
    const stored = read(name)
    const action = actions.find((each) => each === stored.action)
    return action && { action, id: String(stored.id) }
  })
  useEffect(() => {
    if (dialog === undefined) return
    write(name, dialog)
    return () => clearDraft(name)
  }, [name, dialog])
  return [dialog, setDialog]
}

export function clearDraft(name: string): void {
  sessionStorage.removeItem(prefix + name)
}

/** Removes all drafts, so that the next user of the tab does not see them. */
export function clearDrafts(): void {
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith(prefix)) sessionStorage.removeItem(key)
  }
}

function write(name: string, input: Record<string, string | boolean>): void {
  const secret = Object.values(input).some((value) => isSecretText(String(value)))
  if (secret) clearDraft(name)
  else sessionStorage.setItem(prefix + name, JSON.stringify(input))
}

function read(name: string): Record<string, unknown> {
  return Object(JSON.parse(sessionStorage.getItem(prefix + name) ?? '{}'))
}
