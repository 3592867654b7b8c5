import { Button, Group, Modal, type ModalProps, Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { FormEvent, ReactNode } from 'react'
import { type ApiRequest, CurlHint } from './curl.tsx'
import { ErrorNotice } from './error-notice.tsx'

type ActionFormProps = {
  children?: ReactNode
  /** The label of the submit button. */
  action: string
  danger?: boolean
  disabled?: boolean
  /** The request that `run` sends, shown as a curl command. */
  request?: ApiRequest | undefined
  run(): Promise<unknown>
  onCancel?(): void
}

/** A form that sends one API request. If it fails, the form keeps its input and shows the error. */
export function ActionForm(props: ActionFormProps) {
  const { children, action, danger = false, disabled = false, request, run, onCancel } = props
  const mutation = useMutation({ mutationFn: run })
  function submit(event: FormEvent) {
    event.preventDefault()
    if (!disabled) mutation.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        {children}
        {mutation.isError && <ErrorNotice error={mutation.error} />}
        {request !== undefined && <CurlHint {...request} />}
        <Group justify="flex-end">
          {onCancel !== undefined && (
            <Button variant="default" onClick={onCancel} data-autofocus>
              Cancel
            </Button>
          )}
          <Button
            type="submit"
            color={danger ? 'red.8' : 'petrol'}
            loading={mutation.isPending}
            disabled={disabled}
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
    <Modal opened onClose={onClose} title={title}>
      <ActionForm {...form} run={runAndClose} onCancel={onClose} />
    </Modal>
  )
}
