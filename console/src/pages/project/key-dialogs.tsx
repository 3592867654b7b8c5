import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { JwtKey, JwtKeyUpdate } from '../../../../client/src/index.ts'
import { Confirm } from '../../components/confirm.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useSession } from '../../session/context.tsx'
import { KeyDetails } from './key-details.tsx'
import { isLastActive, LastActive } from './last-active.tsx'

export type KeyAction = 'show' | 'rename' | 'expire' | 'activate' | 'deactivate' | 'delete'

type DialogProps = { jwtKey: JwtKey; keys: JwtKey[]; onClose(): void }

/** The dialog of an action on a key. */
export function KeyDialog({ action, ...props }: DialogProps & { action: KeyAction }) {
  if (action === 'show') return <KeyDetails {...props} />
  if (action === 'rename') return <RenameKey {...props} />
  if (action === 'expire') return <ExpireKey {...props} />
  return <SwitchKey {...props} action={action} />
}

const pathOf = ({ projectId, id }: JwtKey) => `/projects/${projectId}/jwt-keys/${id}`

function useUpdate({ jwtKey, onClose }: DialogProps) {
  const { client } = useSession()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (patch: JwtKeyUpdate) => client.keys.update(jwtKey.projectId, jwtKey.id, patch),
    onSuccess: async () => {
      onClose()
      await queries.invalidateQueries({ queryKey: ['keys', jwtKey.projectId] })
    },
  })
}

const questions = {
  activate: { title: 'Switch on', action: 'Switch on', danger: false },
  deactivate: { title: 'Switch off', action: 'Switch off', danger: true },
  delete: { title: 'Delete', action: 'Delete for good', danger: true },
}

function SwitchKey(props: DialogProps & { action: keyof typeof questions }) {
  const { jwtKey, keys, action, onClose } = props
  const { client } = useSession()
  const queries = useQueryClient()
  const { title, ...words } = questions[action]
  const body = { active: action === 'activate' }
  return (
    <Confirm
      {...words}
      title={`${title} “${jwtKey.label}”?`}
      request={
        action === 'delete'
          ? { method: 'DELETE', path: pathOf(jwtKey) }
          : { method: 'PATCH', path: pathOf(jwtKey), body }
      }
      run={async () => {
        if (action === 'delete') await client.keys.delete(jwtKey.projectId, jwtKey.id)
        else await client.keys.update(jwtKey.projectId, jwtKey.id, body)
        await queries.invalidateQueries({ queryKey: ['keys', jwtKey.projectId] })
      }}
      onClose={onClose}
    >
      <Consequence action={action} last={isLastActive(jwtKey, keys)} />
    </Confirm>
  )
}

function Consequence({ action, last }: { action: keyof typeof questions; last: boolean }) {
  if (action === 'activate') return 'Tokens that were signed with it verify again, within a second.'
  if (action === 'delete') {
    return 'It is off already, so nothing stops working. Its kid is never given to another key; its history stays in the ledger.'
  }
  if (last) {
    return <LastActive />
  }
  return 'It leaves the key set within a second. Verifiers that follow the key set live refuse its tokens at once; others when their own cache ends (most: 5 to 10 minutes). It can be switched on again.'
}

function RenameKey(props: DialogProps) {
  const { jwtKey, onClose } = props
  const [label, setLabel] = useState(jwtKey.label)
  const save = useUpdate(props)
  function submit(event: FormEvent) {
    event.preventDefault()
    save.mutate({ label })
  }
  return (
    <Modal opened onClose={onClose} title="Rename the key" lockScroll={false} centered>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Label"
            description="For people; it is never published."
            value={label}
            onChange={(event) => setLabel(event.currentTarget.value)}
            data-autofocus
          />
          {save.isError && <ErrorNotice error={save.error} />}
          <CurlHint method="PATCH" path={pathOf(jwtKey)} body={{ label }} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending} disabled={label.trim() === ''}>
              Rename
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

function ExpireKey(props: DialogProps) {
  const { jwtKey, onClose } = props
  const [time, setTime] = useState(jwtKey.expireTime ? inputTime(jwtKey.expireTime) : '')
  const save = useUpdate(props)
  const expireTime = time === '' ? null : new Date(time).toISOString()
  function submit(event: FormEvent) {
    event.preventDefault()
    save.mutate({ expireTime })
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Expiry of “${jwtKey.label}”`}
      lockScroll={false}
      centered
    >
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            type="datetime-local"
            label="Expires at (your local time)"
            description="From that moment the key is no longer published. Leave it empty for no expiry."
            value={time}
            onChange={(event) => setTime(event.currentTarget.value)}
            data-autofocus
          />
          {save.isError && <ErrorNotice error={save.error} />}
          <CurlHint method="PATCH" path={pathOf(jwtKey)} body={{ expireTime }} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending}>
              {expireTime === null ? 'Save without expiry' : 'Save expiry'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

/** The value of a `datetime-local` field: local time, without a zone. */
function inputTime(time: string): string {
  const date = new Date(time)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
