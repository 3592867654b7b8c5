import { Alert, Button, Checkbox, Group, type ModalProps, Stack, Text } from '@mantine/core'
import { type Confirmation, PubringError } from '@pubring/client'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useId, useState } from 'react'
import { type ApiRequest, CurlHint } from '../components/curl.tsx'
import { Dialog } from '../components/dialog.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { UserText } from '../components/user-text.tsx'
import { isObject } from '../keys/tokens.ts'
import { useSession } from '../session/context.tsx'
import { clearDraft } from './drafts.ts'

type ActionFormProps = {
  children?: ReactNode
  /** The label of the submit button. */
  action: string
  /** What the form does, for the request to sign in again; `action` if absent. */
  purpose?: string
  danger?: boolean
  /** The missing part before the form can be sent, such as “a label”. */
  missing?: (string | false)[]
  /** The name of the draft of the input: dropped when the form is sent or cancelled. */
  draft?: string
  /** The request that `run` sends, shown as a curl command. */
  request?: ApiRequest | undefined
  /** `confirmation`: whether the user gives up access of their own. */
  run(confirmation: Confirmation): Promise<unknown>
  onCancel?(): void
}

const list = new Intl.ListFormat('en')

/** A form that sends one API request. If it fails, the form keeps its input and shows the error. */
export function ActionForm(props: ActionFormProps) {
  const { children, action, purpose = action, danger = false, draft, request, run } = props
  const { onCancel } = props
  const hint = useId()
  const { withSignIn } = useSession()
  const [givenUp, setGivenUp] = useState(false)
  const confirmation: Confirmation = givenUp ? { confirm: 'self' } : {}
  const mutation = useMutation({
    mutationFn: () => withSignIn(() => run(confirmation), purpose),
    onSuccess: discard,
  })
  const isOwn = mutation.error instanceof PubringError && mutation.error.code === 'own_access'
  const missing = [...(props.missing ?? []), isOwn && !givenUp && 'your consent'].filter(
    (each) => each !== false,
  )
  function discard() {
    if (draft !== undefined) clearDraft(draft)
  }
  function submit(event: FormEvent) {
    event.preventDefault()
    if (missing.length === 0) mutation.mutate()
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
          <Alert
            color="yellow"
            icon={<IconAlertTriangle />}
            title="You use this yourself"
            role="alert"
          >
            <Checkbox
              label="I lose this access, and may not be able to undo it"
              checked={givenUp}
              onChange={(event) => setGivenUp(event.currentTarget.checked)}
            />
          </Alert>
        ) : (
          mutation.isError && <ErrorNotice error={mutation.error} />
        )}
        {request !== undefined && <CurlHint {...request} />}
        <Group justify="flex-end">
          <Text id={hint} size="sm" c="dimmed" role="status" flex={1} miw={160}>
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

type ActionDialogProps = Omit<ActionFormProps, 'onCancel'> &
  Pick<ModalProps, 'size'> & { title: string; onClose(): void }

/** An `ActionForm` in a dialog that closes when the request succeeds, and shows its notes before. */
export function ActionDialog({ title, size, onClose, run, ...form }: ActionDialogProps) {
  const [notes, setNotes] = useState<string[]>([])
  const runAndClose = async (confirmation: Confirmation) => {
    const result = await run(confirmation)
    const found = isObject(result) && Array.isArray(result.notes) ? result.notes.map(String) : []
    if (found.length > 0) setNotes(found)
    else onClose()
  }
  return (
    <Dialog onClose={onClose} title={notes.length > 0 ? 'Done' : title} {...(size && { size })}>
      {notes.length > 0 ? (
        <Notes notes={notes} onClose={onClose} />
      ) : (
        <ActionForm
          purpose={title.replace(/\?$/, '')}
          {...form}
          run={runAndClose}
          onCancel={onClose}
        />
      )}
    </Dialog>
  )
}

/** What the service found when it made the change. */
function Notes({ notes, onClose }: { notes: readonly string[]; onClose(): void }) {
  return (
    <Stack>
      {notes.map((note) => (
        <Text key={note} style={{ overflowWrap: 'anywhere' }}>
          <UserText>{note}</UserText>
        </Text>
      ))}
      <Group justify="flex-end">
        <Button onClick={onClose} data-autofocus>
          Close
        </Button>
      </Group>
    </Stack>
  )
}
