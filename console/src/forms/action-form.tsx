import { Button, Checkbox, Group, type ModalProps, Stack, Text } from '@mantine/core'
import { type Client, type Confirmation, PubringError } from '@pubring/client'
import { type QueryKey, useMutation } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useEffect, useId, useState } from 'react'
import { CurlHint, type Send, useCommand } from '../components/curl.tsx'
import { Dialog } from '../components/dialog.tsx'
import { ErrorNotice, Notice } from '../components/states.tsx'
import { UserText } from '../components/text.tsx'
import { isSecretText } from '../keys/secret-text.ts'
import { isObject } from '../keys/tokens.ts'
import { useChange, useConnection } from '../session/session.tsx'

type ActionFormProps<Result> = {
  children?: ReactNode
  action: string
  /** Names in the request to sign in again what the form does; `action` if absent. */
  purpose?: string
  danger?: boolean
  /** The missing part before the form can be sent, such as “a label”. */
  missing?: (string | false)[]
  /** The name of the draft of the input: dropped when the form is sent or cancelled. */
  draft?: string
  /** `confirmation`: whether the user gives up access of their own. */
  send(client: Client, confirmation: Confirmation): Promise<Result>
  /** What to show as a command in place of `send`, which may have a secret; false for nothing. */
  shown?: Send | false | undefined
  /** Everything is read again whose key begins with one of these. */
  changes?: readonly QueryKey[]
  onSent?(result: Result): unknown
  onCancel?: (() => void) | undefined
}

const list = new Intl.ListFormat('en')

/** A form that sends one API request. If it fails, the form keeps its input and shows the error. */
export function ActionForm<Result>(props: ActionFormProps<Result>) {
  const { children, action, purpose = action, danger = false, draft, onCancel } = props
  const { send, shown, changes = [], onSent } = props
  const hint = useId()
  const { withSignIn } = useConnection()
  const [givenUp, setGivenUp] = useState(false)
  const wanted = useCommand((client) => send(client, {}))
  const change = useChange(...changes)
  const mutation = useMutation({
    async mutationFn({ confirmation }: { wanted: string; confirmation: Confirmation }) {
      const sent = () => change((client) => send(client, confirmation))
      const result = await withSignIn(sent, purpose)
      await onSent?.(result)
    },
    onSuccess: discard,
    // Consent is to one try of the request that was refused.
    onError: () => setGivenUp(false),
  })
  const { error, variables } = mutation
  const isRefused = error instanceof PubringError && error.code === 'own_access'
  const isOwn = isRefused && variables?.wanted === wanted
  const consents = isOwn && givenUp
  const confirmation: Confirmation = consents ? { confirm: 'self' } : {}
  const missing = [...(props.missing ?? []), isOwn && !givenUp && 'your consent'].filter(
    (each) => each !== false,
  )
  function discard() {
    if (draft !== undefined) clearDraft(draft)
  }
  function submit(event: FormEvent) {
    event.preventDefault()
    if (missing.length === 0) mutation.mutate({ wanted, confirmation })
  }
  function cancel() {
    discard()
    onCancel?.()
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        {children}
        {isOwn ? (
          <Notice tone="warning" title="You use this yourself" role="alert">
            <Checkbox
              label="I lose this access, and may not be able to undo it"
              checked={givenUp}
              onChange={(event) => setGivenUp(event.currentTarget.checked)}
            />
          </Notice>
        ) : (
          mutation.isError && <ErrorNotice error={mutation.error} />
        )}
        {shown !== false && <CurlHint send={shown ?? ((client) => send(client, confirmation))} />}
        <Group justify="flex-end" className="form-actions">
          <Text id={hint} c="dimmed" role="status">
            {missing.length > 0 && `Still needed: ${list.format(missing)}.`}
          </Text>
          {onCancel !== undefined && (
            <Button variant="default" onClick={cancel} data-autofocus>
              Cancel
            </Button>
          )}
          <Button
            type="submit"
            color={danger ? 'red.8' : 'petrol'}
            loading={mutation.isPending}
            disabled={missing.length > 0}
            aria-describedby={hint}
          >
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

type ActionDialogProps<Result> = Omit<ActionFormProps<Result>, 'onCancel'> &
  Pick<ModalProps, 'size'> & { title: string; onClose(): void }

/** An `ActionForm` in a dialog that closes when the request succeeds, and shows its notes before. */
export function ActionDialog<Result>(props: ActionDialogProps<Result>) {
  const { title, size = 'md', onClose, onSent, ...form } = props
  const { draft } = form
  const [notes, setNotes] = useState('')
  // Otherwise the next dialog would show what was given up as if it were stored.
  const cancel = () => {
    if (draft !== undefined) clearDraft(draft)
    onClose()
  }
  const finish = async (result: Result) => {
    await onSent?.(result)
    if (isObject(result) && Array.isArray(result.notes)) setNotes(result.notes.join(' '))
    else onClose()
  }
  if (notes === '') {
    const own = { purpose: title.replace(/\?$/, ''), ...form }
    return (
      <Dialog onClose={cancel} title={title} size={size} closeOnClickOutside={draft === undefined}>
        <ActionForm {...own} onSent={finish} onCancel={onClose} />
      </Dialog>
    )
  }
  return (
    <Dialog onClose={onClose} title="Done" size={size}>
      <Text size="md" mb="md">
        <UserText>{notes}</UserText>
      </Text>
      <Button onClick={onClose} data-autofocus>
        Close
      </Button>
    </Dialog>
  )
}

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

type OpenDialog<Action extends string> = { action: Action; id: string }

/** The open dialog of a page, which survives a reload, but not a visit to another page. */
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

const read = (name: string): Record<string, unknown> =>
  Object(JSON.parse(sessionStorage.getItem(prefix + name) ?? '{}'))
