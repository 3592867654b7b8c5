import { Button, Group, type ModalProps, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useId } from 'react'
import { type ApiRequest, CurlHint } from '../components/curl.tsx'
import { Dialog } from '../components/dialog.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { useSession } from '../session/context.tsx'
import { clearDraft } from './drafts.ts'

type ActionFormProps = {
  children?: ReactNode
  /** The label of the submit button. */
  action: string
  danger?: boolean
  /** The missing part before the form can be sent, such as “a label”. */
  missing?: (string | false)[]
  /** The name of the draft of the input: dropped when the form is sent or cancelled. */
  draft?: string
  /** The request that `run` sends, shown as a curl command. */
  request?: ApiRequest | undefined
  run(): Promise<unknown>
  onCancel?(): void
}

const list = new Intl.ListFormat('en')

/** A form that sends one API request. If it fails, the form keeps its input and shows the error. */
export function ActionForm(props: ActionFormProps) {
  const { children, action, danger = false, draft, request, run, onCancel } = props
  const missing = (props.missing ?? []).filter((each) => each !== false)
  const hint = useId()
  const { withSignIn } = useSession()
  const mutation = useMutation({ mutationFn: () => withSignIn(run, action), onSuccess: discard })
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
        {mutation.isError && <ErrorNotice error={mutation.error} />}
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
  Pick<ModalProps, 'title'> & { onClose(): void }

/** An `ActionForm` in a dialog that closes when the request succeeds. */
export function ActionDialog({ title, onClose, run, ...form }: ActionDialogProps) {
  const runAndClose = async () => {
    await run()
    onClose()
  }
  return (
    <Dialog onClose={onClose} title={title}>
      <ActionForm {...form} run={runAndClose} onCancel={onClose} />
    </Dialog>
  )
}
