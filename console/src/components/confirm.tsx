import { Button, Group, Modal, Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { type ApiRequest, CurlHint } from './curl.tsx'
import { ErrorNotice } from './error-notice.tsx'

/** Asks before something is done; stays open, saying why, where it fails. */
export function Confirm(props: {
  title: string
  children: ReactNode
  action: string
  danger?: boolean
  request: ApiRequest
  run(): Promise<unknown>
  onClose(): void
}) {
  const { title, children, action, danger, request, run, onClose } = props
  const mutation = useMutation({ mutationFn: run, onSuccess: onClose })
  return (
    <Modal opened onClose={onClose} title={title} lockScroll={false} centered>
      <Stack>
        <div>{children}</div>
        {mutation.isError && <ErrorNotice error={mutation.error} />}
        <CurlHint {...request} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button
            color={danger ? 'red.8' : 'petrol'}
            loading={mutation.isPending}
            onClick={() => mutation.mutate()}
          >
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
